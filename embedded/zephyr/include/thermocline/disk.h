/*
 * A disk of the devicetree (compatible "thermocline,disk") beside what <zephyr/storage/disk_access.h> has: the store itself, for
 * health, cleaning ahead and scrubbing.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef THERMOCLINE_DISK_H
#define THERMOCLINE_DISK_H

#include <thermocline.h>
#include <zephyr/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The disk's store, until thermocline_disk_unlock: other threads wait for it meanwhile. While the disk is not initialised, the functions of
 * thermocline.h answer THERMOCLINE_NOT_OPEN.
 *
 *     thermocline *store = thermocline_disk_lock(DEVICE_DT_GET(DT_NODELABEL(disk0)));
 *     thermocline_clean(store, 16);
 *     thermocline_disk_unlock(DEVICE_DT_GET(DT_NODELABEL(disk0)));
 */
thermocline *thermocline_disk_lock(const struct device *disk);
void thermocline_disk_unlock(const struct device *disk);

/* Makes an empty store, whatever the partition holds, and leaves it open. 0, or a negative code of errno.h. */
int thermocline_disk_format(const struct device *disk);

#ifdef __cplusplus
}
#endif

#endif
