/*
 * What of ESP-IDF 5 and of its component spi_nand_flash 1.4.2 the drop-in uses, declared in our words: names, arguments and values are
 * theirs, all else is not. esp.c is what they do here.
 */
#ifndef ESP_API_H
#define ESP_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* sdkconfig.h */
#define CONFIG_THERMOCLINE_NAND_FORMAT 1
#define CONFIG_THERMOCLINE_NAND_OVER_PROVISIONING 10
#define CONFIG_THERMOCLINE_NAND_SPARE_PERCENT 2
#define CONFIG_THERMOCLINE_NAND_CHANGES 4

/* esp_err.h */
typedef int esp_err_t;
#define ESP_OK 0
#define ESP_FAIL -1
#define ESP_ERR_NO_MEM 0x101
#define ESP_ERR_INVALID_ARG 0x102
#define ESP_ERR_INVALID_STATE 0x103
#define ESP_ERR_NOT_FINISHED 0x10C
#define ESP_ERR_FLASH_BASE 0x6000
#define ESP_ERROR_CHECK(call) ((void)(call))

/* esp_heap_caps.h */
#define MALLOC_CAP_DEFAULT (1 << 12)
void *heap_caps_malloc(size_t size, uint32_t caps);
void *heap_caps_calloc(size_t n, size_t size, uint32_t caps);

/* esp_log.h, esp_rom_sys.h */
#define ESP_LOGE(tag, ...) ((void)(tag), (void)(esp_is_quiet || printf(__VA_ARGS__)))
#define ESP_LOGW(tag, ...) ESP_LOGE(tag, __VA_ARGS__)
extern bool esp_is_quiet;
void esp_rom_delay_us(uint32_t us);

/* freertos/FreeRTOS.h, freertos/semphr.h, freertos/task.h */
typedef struct mutex *SemaphoreHandle_t;
#define portMAX_DELAY 0xffffffffu
#define portTICK_PERIOD_MS 10
int xSemaphoreTake(SemaphoreHandle_t mutex, uint32_t ticks);
int xSemaphoreGive(SemaphoreHandle_t mutex);
void vTaskDelay(uint32_t ticks);

/* driver/spi_master.h */
typedef struct spi_device_t *spi_device_handle_t;
typedef struct {
    int mosi_io_num;
    int miso_io_num;
    int sclk_io_num;
    int quadwp_io_num;
    int quadhd_io_num;
    int max_transfer_sz;
} spi_bus_config_t;
typedef struct {
    uint8_t mode;
    int clock_speed_hz;
    int spics_io_num;
    uint32_t flags;
    int queue_size;
} spi_device_interface_config_t;
#define SPI2_HOST 1
#define SPI_DMA_CH_AUTO 3
#define SPI_DEVICE_HALFDUPLEX (1 << 4)
esp_err_t spi_bus_initialize(int host, const spi_bus_config_t *config, int dma);
esp_err_t spi_bus_add_device(int host, const spi_device_interface_config_t *config, spi_device_handle_t *handle);
#define SPI_TRANS_USE_RXDATA (1 << 2)
#define SPI_TRANS_USE_TXDATA (1 << 3)

/* spi_nand_flash.h */
typedef struct spi_nand_flash_device_t spi_nand_flash_device_t;
typedef struct {
    spi_device_handle_t device_handle;
    uint8_t gc_factor;
    int io_mode;
    uint8_t flags;
} spi_nand_flash_config_t;
#define SPI_NAND_IO_MODE_SIO 0
esp_err_t spi_nand_flash_init_device(spi_nand_flash_config_t *config, spi_nand_flash_device_t **handle);
esp_err_t spi_nand_flash_read_page(spi_nand_flash_device_t *handle, uint8_t *buffer, uint32_t page_id);
esp_err_t spi_nand_flash_write_page(spi_nand_flash_device_t *handle, const uint8_t *buffer, uint32_t page_id);
esp_err_t spi_nand_flash_copy_page(spi_nand_flash_device_t *handle, uint32_t src_page, uint32_t dst_page);
esp_err_t spi_nand_flash_trim(spi_nand_flash_device_t *handle, uint32_t page_id);
esp_err_t spi_nand_flash_sync(spi_nand_flash_device_t *handle);
esp_err_t spi_nand_flash_gc(spi_nand_flash_device_t *handle);
esp_err_t spi_nand_flash_get_page_count(spi_nand_flash_device_t *handle, uint32_t *number_of_pages);
esp_err_t spi_nand_erase_chip(spi_nand_flash_device_t *handle);
esp_err_t spi_nand_flash_deinit_device(spi_nand_flash_device_t *handle);

/* esp_vfs_fat_nand.h, of the component spi_nand_flash_fatfs */
typedef struct {
    bool format_if_mount_failed;
    int max_files;
    size_t allocation_unit_size;
} esp_vfs_fat_mount_config_t;
esp_err_t esp_vfs_fat_nand_mount(const char *base_path, spi_nand_flash_device_t *nand, const esp_vfs_fat_mount_config_t *config);
esp_err_t esp_vfs_fat_nand_unmount(const char *base_path, spi_nand_flash_device_t *nand);

/* nand.h, of the component's own */
typedef struct {
    esp_err_t (*init)(spi_nand_flash_device_t *handle, void *bdl_handle);
    esp_err_t (*deinit)(spi_nand_flash_device_t *handle);
    esp_err_t (*read)(spi_nand_flash_device_t *handle, uint8_t *buffer, uint32_t sector_id);
    esp_err_t (*write)(spi_nand_flash_device_t *handle, const uint8_t *buffer, uint32_t sector_id);
    esp_err_t (*erase_chip)(spi_nand_flash_device_t *handle);
    esp_err_t (*erase_block)(spi_nand_flash_device_t *handle, uint32_t block);
    esp_err_t (*trim)(spi_nand_flash_device_t *handle, uint32_t sector_id);
    esp_err_t (*sync)(spi_nand_flash_device_t *handle);
    esp_err_t (*copy_sector)(spi_nand_flash_device_t *handle, uint32_t src_sec, uint32_t dst_sec);
    esp_err_t (*get_capacity)(spi_nand_flash_device_t *handle, uint32_t *number_of_sectors);
    esp_err_t (*gc)(spi_nand_flash_device_t *handle);
} spi_nand_ops;
typedef struct {
    uint8_t log2_page_size;
    uint8_t log2_ppb;
    uint32_t block_size;
    uint32_t page_size;
    uint32_t num_blocks;
    uint8_t has_quad_enable_bit;
    uint8_t quad_enable_bit_pos;
} spi_nand_chip_t;
struct spi_nand_flash_device_t {
    spi_nand_flash_config_t config;
    spi_nand_chip_t chip;
    const spi_nand_ops *ops;
    void *ops_priv_data;
    uint8_t *work_buffer;
    uint8_t *read_buffer;
    uint8_t *temp_buffer;
    SemaphoreHandle_t mutex;
};
esp_err_t nand_wl_attach_ops(spi_nand_flash_device_t *handle);
esp_err_t nand_wl_detach_ops(spi_nand_flash_device_t *handle);

/* spi_nand_oper.h, of the component's own */
typedef struct {
    uint8_t command;
    uint8_t address_bytes;
    uint32_t address;
    uint32_t mosi_len;
    const uint8_t *mosi_data;
    uint32_t miso_len;
    uint8_t *miso_data;
    uint32_t dummy_bits;
    uint32_t flags;
} spi_nand_transaction_t;
#define REG_CONFIG 0xB0
esp_err_t spi_nand_execute_transaction(spi_nand_flash_device_t *handle, spi_nand_transaction_t *transaction);
esp_err_t spi_nand_read_register(spi_nand_flash_device_t *handle, uint8_t reg, uint8_t *val);
esp_err_t spi_nand_write_register(spi_nand_flash_device_t *handle, uint8_t reg, uint8_t val);

#endif
