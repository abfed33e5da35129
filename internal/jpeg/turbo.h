// Calls of TurboJPEG, each with all that a goroutine needs of it: it may go on in another thread afterwards.
#ifndef PIPETUNE_TURBO_H
#define PIPETUNE_TURBO_H

#include <stdio.h>
#include <time.h>
#include <turbojpeg.h>

// What one call left behind. TurboJPEG keeps messages for each thread: so the message is copied in the call that caused it.
struct outcome {
	int width, height, subsampling, colorspace;
	int failed;
	char message[200]; // JMSG_LENGTH_MAX of jpeglib.h
};

static inline void explain(tjhandle handle, int status, struct outcome *out) {
	out->failed = status != 0;
	out->message[0] = 0;
	if (status) snprintf(out->message, sizeof out->message, "%s", tjGetErrorStr2(handle));
}

static inline void header(tjhandle handle, const unsigned char *data, unsigned long size, struct outcome *out) {
	out->width = out->height = 0;
	out->subsampling = out->colorspace = -1;
	explain(handle, tjDecompressHeader3(handle, data, size, &out->width, &out->height, &out->subsampling, &out->colorspace), out);
}

// What one picture of several is and took. It holds no pointers, so that Go may keep it.
struct picture {
	unsigned long at, size; // of its file among the bytes of all
	int width, height, format;
	long long nanoseconds;
};

// Turns inverted CMYK into RGB where it lies. It rounds as Pillow's cmyk2rgb does.
static inline void from_cmyk(unsigned char *pixels, size_t count) {
	const unsigned char *from = pixels;
	unsigned char *to = pixels;
	for (; count > 0; count--, from += 4) {
		int white = from[3];
		for (int i = 0; i < 3; i++) {
			int product = (255 - from[i]) * white + 128, left = white - ((product >> 8) + product >> 8);
			*to++ = left > 0 ? left : 0;
		}
	}
}

static inline long long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// Decodes pictures one after the other into the same buffer, until they lasted so long together, or to the first that left a message. It
// returns how many it decoded, that one among them.
static inline long decode(tjhandle handle, const unsigned char *data, struct picture *pictures, long count, unsigned char *into, long long longest,
		struct outcome *out) {
	long done = 0;
	long long began = now(), before = began;
	do {
		struct picture *p = &pictures[done++];
		int status = tjDecompress2(handle, data + p->at, p->size, into, p->width, 0, p->height, p->format, TJFLAG_LIMITSCANS);
		if (p->format == TJPF_CMYK) from_cmyk(into, (size_t)p->width * p->height);
		long long after = now();
		p->nanoseconds = after - before;
		before = after;
		explain(handle, status, out);
	} while (!out->failed && done < count && before - began < longest);
	return done;
}

// Below quality 96 TurboJPEG would take the fast transform; libjpeg, and Pillow by it, takes the accurate one.
static inline unsigned long encode(tjhandle handle, const unsigned char *pixels, int width, int height, int format, unsigned char *into,
		unsigned long size, int subsampling, int quality, struct outcome *out) {
	int flags = TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT;
	explain(handle, tjCompress2(handle, pixels, width, 0, height, format, &into, &size, subsampling, quality, flags), out);
	return size;
}

#endif
