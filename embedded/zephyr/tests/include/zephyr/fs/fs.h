/* What of Zephyr's file systems the sample uses, to compile it; nothing is behind it. */
#ifndef ZEPHYR_FS_H
#define ZEPHYR_FS_H

#include <zephyr/api.h>

enum { FS_FATFS };
#define FS_O_RDWR 3
#define FS_O_CREATE 16
#define FS_SEEK_SET 0
struct fs_file_t {
	void *filep;
};
struct fs_mount_t {
	int type;
	const char *mnt_point;
	void *fs_data;
};
void fs_file_t_init(struct fs_file_t *file);
int fs_mount(struct fs_mount_t *mount);
int fs_unmount(struct fs_mount_t *mount);
int fs_open(struct fs_file_t *file, const char *path, uint8_t flags);
int fs_close(struct fs_file_t *file);
ssize_t fs_read(struct fs_file_t *file, void *into, size_t length);
ssize_t fs_write(struct fs_file_t *file, const void *from, size_t length);
int fs_seek(struct fs_file_t *file, off_t offset, int whence);

#endif
