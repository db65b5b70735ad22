/* Of FatFs, for the sample. */
typedef struct {
	int opaque;
} FATFS;
