/* What the tests do to the flash and to the system beneath the disk. */
#ifndef TESTS_ZEPHYR_H
#define TESTS_ZEPHYR_H

#include <zephyr/api.h>

struct flash {
	size_t size;
	/* Bytes that are erased at once. */
	size_t unit;
	struct flash_parameters parameters;
	/* Whole pages are written, in ascending order; one whose write was cut off cannot be read. */
	bool is_nand;
	bool ready;
	uint8_t *bytes;
	/* Of each write block. */
	bool *written;
	bool *torn;
	/* Of each unit: marked, and failing from now on. */
	bool *bad;
	bool *failing;
	/* Writes and erases until the power fails; none if negative. */
	long left;
	bool dead;
	unsigned writes, erases;
};

extern struct flash nor, nand, odd;

/* Blank flash with its factory's marks. */
void flash_make(struct flash *flash);

void require_(bool is, const char *what, const char *file, int line);
#define require(is) require_(is, #is, __FILE__, __LINE__)

#endif
