/*
 * spi_nand_flash for the tests, as far as the drop-in sees it: a handle, a mutex, transactions on the bus of a simulated W25N01GV. The chip
 * is touched under the mutex only, or while the device is opened or closed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "esp.h"

struct mutex {
    pthread_mutex_t of_the_host;
};

bool esp_is_quiet = true;
struct thermocline_spi chip;
long allocations_left = -1;
unsigned transactions;
uint32_t blocks_known = 1024;
static __thread int held;

void require_(bool is, const char *what, const char *file, int line)
{
    if (!is) {
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
        exit(1);
    }
}

void *heap_caps_calloc(size_t n, size_t size, uint32_t caps)
{
    require(caps == MALLOC_CAP_DEFAULT);
    if (allocations_left == 0) {
        return NULL;
    }
    allocations_left -= allocations_left > 0;
    return calloc(n, size);
}

void *heap_caps_malloc(size_t size, uint32_t caps)
{
    return heap_caps_calloc(1, size, caps);
}

void esp_rom_delay_us(uint32_t us)
{
    require(us < 10000);
    chip.delay(chip.context, us);
}

void vTaskDelay(uint32_t ticks)
{
    chip.delay(chip.context, ticks * 10000);
}

int xSemaphoreTake(SemaphoreHandle_t mutex, uint32_t ticks)
{
    require(ticks == portMAX_DELAY);
    pthread_mutex_lock(&mutex->of_the_host);
    held++;
    return 1;
}

int xSemaphoreGive(SemaphoreHandle_t mutex)
{
    held--;
    pthread_mutex_unlock(&mutex->of_the_host);
    return 1;
}

/* Bit 0 of the register stands for four lines. */
static void set_lines(bool four)
{
    static const uint8_t get[] = {0x0F, REG_CONFIG};
    uint8_t value = 0, set[] = {0x1F, REG_CONFIG, 0};

    chip.transfer(chip.context, get, sizeof get, NULL, 0, &value, 1);
    set[2] = four ? value | 1 : value & ~1;
    chip.transfer(chip.context, set, sizeof set, NULL, 0, NULL, 0);
}

/* Long data come from where DMA reaches, short ones are in the transaction. */
esp_err_t spi_nand_execute_transaction(spi_nand_flash_device_t *handle, spi_nand_transaction_t *t)
{
    uint8_t command[4] = {t->command};
    int code;

    transactions++;
    require(held > 0);
    require(t->address_bytes < 4 && t->dummy_bits == 0 && (t->mosi_len == 0 || t->miso_len == 0));
    require(t->mosi_len == 0 || (t->mosi_len <= 4 ? t->flags == SPI_TRANS_USE_TXDATA : t->mosi_data == handle->temp_buffer && t->flags == 0));
    require(t->miso_len == 0 || (t->miso_len <= 4 ? t->flags == SPI_TRANS_USE_RXDATA : t->miso_data == handle->temp_buffer && t->flags == 0));
    for (int i = 0; i < t->address_bytes; i++) {
        command[1 + i] = t->address >> 8 * (t->address_bytes - 1 - i);
    }
    code = chip.transfer(chip.context, command, 1 + t->address_bytes, t->mosi_data, t->mosi_len, t->miso_data, t->miso_len);
    if (t->command == 0xFF) {
        chip.delay(chip.context, 1000);
        set_lines(false);
    }
    return code ? ESP_FAIL : ESP_OK;
}

esp_err_t spi_nand_read_register(spi_nand_flash_device_t *handle, uint8_t reg, uint8_t *val)
{
    spi_nand_transaction_t t = {.command = 0x0F, .address_bytes = 1, .address = reg, .miso_len = 1, .miso_data = val, .flags = SPI_TRANS_USE_RXDATA};

    return spi_nand_execute_transaction(handle, &t);
}

esp_err_t spi_nand_write_register(spi_nand_flash_device_t *handle, uint8_t reg, uint8_t val)
{
    spi_nand_transaction_t t = {.command = 0x1F, .address_bytes = 1, .address = reg, .mosi_len = 1, .mosi_data = &val, .flags = SPI_TRANS_USE_TXDATA};

    return spi_nand_execute_transaction(handle, &t);
}

/* The component's calls of its table. */

esp_err_t spi_nand_flash_init_device(spi_nand_flash_config_t *config, spi_nand_flash_device_t **made)
{
    spi_nand_flash_device_t *handle = calloc(1, sizeof(*handle));

    handle->config = *config;
    handle->chip = (spi_nand_chip_t){11, 6, 64 * 2048, 2048, blocks_known, 1, 0};
    handle->read_buffer = malloc(2048);
    handle->temp_buffer = malloc(2048 + 4);
    handle->mutex = malloc(sizeof(struct mutex));
    pthread_mutex_init(&handle->mutex->of_the_host, NULL);
    *made = handle;
    set_lines(true);
    held++;
    require(nand_wl_attach_ops(handle) == ESP_OK);
    /* Nobody looks at this answer. */
    handle->ops->init(handle, NULL);
    held--;
    return ESP_OK;
}

esp_err_t spi_nand_flash_deinit_device(spi_nand_flash_device_t *handle)
{
    held++;
    nand_wl_detach_ops(handle);
    held--;
    require(handle->ops == NULL && handle->ops_priv_data == NULL);
    free(handle->read_buffer);
    free(handle->temp_buffer);
    free(handle->mutex);
    free(handle);
    return ESP_OK;
}

#define LOCKED(call)                                                                                                                       \
    esp_err_t code;                                                                                                                        \
    xSemaphoreTake(handle->mutex, portMAX_DELAY);                                                                                          \
    code = handle->ops->call;                                                                                                              \
    xSemaphoreGive(handle->mutex);                                                                                                         \
    return code

esp_err_t spi_nand_flash_read_page(spi_nand_flash_device_t *handle, uint8_t *buffer, uint32_t page_id)
{
    LOCKED(read(handle, buffer, page_id));
}

esp_err_t spi_nand_flash_write_page(spi_nand_flash_device_t *handle, const uint8_t *buffer, uint32_t page_id)
{
    LOCKED(write(handle, buffer, page_id));
}

esp_err_t spi_nand_flash_copy_page(spi_nand_flash_device_t *handle, uint32_t src_page, uint32_t dst_page)
{
    LOCKED(copy_sector(handle, src_page, dst_page));
}

esp_err_t spi_nand_flash_trim(spi_nand_flash_device_t *handle, uint32_t page_id)
{
    LOCKED(trim(handle, page_id));
}

esp_err_t spi_nand_flash_sync(spi_nand_flash_device_t *handle)
{
    LOCKED(sync(handle));
}

esp_err_t spi_nand_flash_gc(spi_nand_flash_device_t *handle)
{
    LOCKED(gc(handle));
}

esp_err_t spi_nand_flash_get_page_count(spi_nand_flash_device_t *handle, uint32_t *number_of_pages)
{
    return handle->ops->get_capacity(handle, number_of_pages);
}

esp_err_t spi_nand_erase_chip(spi_nand_flash_device_t *handle)
{
    esp_err_t code;

    xSemaphoreTake(handle->mutex, portMAX_DELAY);
    code = handle->ops->erase_chip(handle);
    if (code == ESP_OK) {
        handle->ops->deinit(handle);
    }
    xSemaphoreGive(handle->mutex);
    return code;
}
