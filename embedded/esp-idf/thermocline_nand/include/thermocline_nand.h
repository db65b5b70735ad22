/*
 * The store below a device of spi_nand_flash: for health, cleaning ahead and scrubbing. Everything else is in spi_nand_flash.h.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef THERMOCLINE_NAND_H
#define THERMOCLINE_NAND_H

#include "spi_nand_flash.h"
#include "thermocline.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The store, until thermocline_nand_unlock: other tasks wait for it meanwhile, and spi_nand_flash.h must not be called. Where none
 * is open, the functions of thermocline.h answer THERMOCLINE_NOT_OPEN.
 *
 *     struct thermocline_health health;
 *     thermocline_health(thermocline_nand_lock(device), &health);
 *     thermocline_nand_unlock(device);
 */
thermocline *thermocline_nand_lock(spi_nand_flash_device_t *device);
void thermocline_nand_unlock(spi_nand_flash_device_t *device);

#ifdef __cplusplus
}
#endif

#endif
