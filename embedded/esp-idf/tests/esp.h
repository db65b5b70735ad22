/* What the tests do to the chip and to the heap below the drop-in. */
#ifndef TESTS_ESP_H
#define TESTS_ESP_H

#include "esp_api.h"
#include "thermocline_simulated.h"

/* The chip's bus. */
extern struct thermocline_spi chip;
/* Allocations until one fails; none if negative. */
extern long allocations_left;
/* On the bus. */
extern unsigned transactions;
/* As what the component knows the chip. */
extern uint32_t blocks_known;

void require_(bool is, const char *what, const char *file, int line);
#define require(is) require_(is, #is, __FILE__, __LINE__)

#endif
