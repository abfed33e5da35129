"""The rules of the modules below, by name."""

RULES = {}


def rule(name):
    """Makes a function a rule: it is given a Module and yields Findings."""

    def keep(function):
        RULES["lint/" + name] = function
        return function

    return keep
