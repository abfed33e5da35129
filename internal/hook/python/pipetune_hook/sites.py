"""Lines of source that open, read or wait, and how often: a few of them for each loader."""

SITES = 64  # lines of source that are reported of one loader and process
TOGETHER = 4  # sites in one message
FILES = 8  # files kept apart at one line


def add_site(sites, kind, what, place, took):
    """Counts a call made from a line of the person's source."""
    site = sites.get((kind, what) + place)
    if site is None:
        site = another_site(sites, kind, what, place)
        if site is None:
            return
    site[0] += 1
    site[1] += took
    site[2] = True


def another_site(sites, kind, what, place):
    """The site of a call that is not known yet: one of its own, that of the line's further files, or None if full."""
    further = (kind, "") + place
    site = sites.get(further)
    if site is None and len(sites) < SITES:
        known = len([each for each in list(sites) if each[0] == kind and each[2:] == place])
        site = sites[further if known >= FILES else (kind, what) + place] = [0, 0, False]
    return site


def some_sites(sites):
    """The sites that changed, as many as go into one message with totals, and what to do once they were sent."""
    changed = [(key, site) for key, site in list(sites.items()) if site[2]][:TOGETHER]

    def reported():
        for _, site in changed:
            site[2] = False

    return [
        {
            "kind": kind,
            "what": what,
            "file": file,
            "line": line,
            "function": function,
            "calls": site[0],
            "time": site[1],
        }
        for (kind, what, file, line, function), site in changed
    ], reported


def with_sites(sites, message, reported):
    """Lets a message with totals take sites along."""
    if not sites:
        return message, reported
    some, sites_told = some_sites(sites)
    if not some:
        return message, reported

    def both():
        reported()
        sites_told()

    return dict(message, sites=some), both


def site_messages(sites, message):
    """Yields messages with the sites that are left."""
    for _ in range(SITES // TOGETHER):
        some, reported = some_sites(sites)
        if not some:
            return
        yield dict(message, sites=some), reported
