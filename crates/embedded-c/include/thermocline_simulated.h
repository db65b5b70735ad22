/*
 * A Winbond W25N01GV in memory, as a bus: commands, error correction, busy times in simulated time, a loss of power. In the library for
 * computers alone.
 */
#ifndef THERMOCLINE_SIMULATED_H
#define THERMOCLINE_SIMULATED_H

#include "thermocline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A blank chip, which lives as long as the program. Pages take memory when they are programmed. */
void thermocline_simulated_w25n01gv(struct thermocline_spi *bus);

/* The power fails after so many bytes on the bus; a program or an erase that is going on then is done in part. */
void thermocline_simulated_cut(const struct thermocline_spi *bus, uint64_t bytes);

/* The power is back. */
void thermocline_simulated_power_on(const struct thermocline_spi *bus);

#ifdef __cplusplus
}
#endif

#endif
