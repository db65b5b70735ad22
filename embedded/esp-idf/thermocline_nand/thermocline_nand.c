/*
 * Thermocline in place of dhara below spi_nand_flash (component 1.4.2, ESP-IDF 5.0 and later): the same table of operations, so that
 * spi_nand_flash.h, its block devices and FAT on it stay as they are.
 *
 * The component takes its table from nand_wl_attach_ops. The linker gives it ours (--wrap, CMakeLists.txt), and leaves out dhara.
 *
 * The layer wants 16 bytes beside each page, and the component's page functions program none but two marks of their own. So the chip
 * is driven by the library's driver, over the one function of the component that transfers: it knows where each chip's
 * spare bytes are that its error correction covers, and how many bits it corrected. Pages stay as long as the component says.
 *
 * The component holds its mutex during every operation but init, before which nobody knows the handle, and get_capacity.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "esp_err.h"
#include "esp_heap_caps.h"
#include "esp_log.h"
#include "esp_rom_sys.h"
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "freertos/task.h"
#include "nand.h"
#include "sdkconfig.h"
#include "spi_nand_oper.h"

#include "thermocline_nand.h"

#define VICTIM THERMOCLINE_CAT
#define PLACEMENT THERMOCLINE_DAC
/* What fits into a transaction itself. */
#define SHORT 4
/* Pages that a step of garbage collection looks at. */
#define STEP 16

static const char *TAG = "thermocline";

struct state {
    thermocline store;
    thermocline_spi_nand driver;
    struct thermocline_nand nand;
    void *memory;
    size_t bytes;
};

static struct state *state_of(spi_nand_flash_device_t *handle)
{
    return handle->ops_priv_data;
}

static esp_err_t error_of(int code)
{
    switch (code) {
    case THERMOCLINE_OUT_OF_RANGE:
        return ESP_ERR_INVALID_ARG;
    case THERMOCLINE_MEMORY:
        return ESP_ERR_NO_MEM;
    case THERMOCLINE_NOT_OPEN:
    case THERMOCLINE_NOT_FORMATTED:
        return ESP_ERR_INVALID_STATE;
    default:
        return code < 0 ? ESP_ERR_FLASH_BASE - code : ESP_OK;
    }
}

/* The bus: what follows the command's first byte is an address of up to three bytes. */

static int transfer(void *context, const uint8_t *command, uint32_t command_length, const uint8_t *data, uint32_t data_length,
                    uint8_t *into, uint32_t into_length)
{
    spi_nand_flash_device_t *handle = context;
    /* The buffer that the component itself uses for what DMA cannot reach. */
    const uint32_t room = handle->chip.page_size;
    spi_nand_transaction_t t = {
        .command = command[0],
        .address_bytes = command_length - 1,
        .mosi_len = data_length,
        .mosi_data = data,
        .miso_len = into_length,
        .miso_data = into,
    };

    for (uint32_t i = 1; i < command_length; i++) {
        t.address = t.address << 8 | command[i];
    }
    if (data_length > 0 && data_length <= SHORT) {
        t.flags = SPI_TRANS_USE_TXDATA;
    } else if (data_length > 0 && data_length <= room) {
        memcpy(handle->temp_buffer, data, data_length);
        t.mosi_data = handle->temp_buffer;
    }
    if (into_length > 0 && into_length <= SHORT) {
        t.flags = SPI_TRANS_USE_RXDATA;
    } else if (into_length > 0 && into_length <= room) {
        t.miso_data = handle->temp_buffer;
    }
    if (spi_nand_execute_transaction(handle, &t) != ESP_OK) {
        return 1;
    }
    if (t.miso_data != into) {
        memcpy(into, t.miso_data, into_length);
    }
    return 0;
}

static void delay_for(void *context, uint32_t microseconds)
{
    (void)context;
    if (microseconds < 1000 * portTICK_PERIOD_MS) {
        esp_rom_delay_us(microseconds);
    } else {
        vTaskDelay(microseconds / (1000 * portTICK_PERIOD_MS) + 1);
    }
}

/* Opening. */

static int open_chip(spi_nand_flash_device_t *handle)
{
    struct state *state = state_of(handle);
    const struct thermocline_spi bus = {.context = handle, .transfer = transfer, .delay = delay_for};
    uint8_t before = 0, after = 0;
    int code;

    /* The driver resets the chip, some of which forget then that their pins have four lines. */
    if (handle->chip.has_quad_enable_bit && spi_nand_read_register(handle, REG_CONFIG, &before) != ESP_OK) {
        return THERMOCLINE_DEVICE;
    }
    code = thermocline_spi_nand_open(&state->driver, &bus, &state->nand, NULL);
    if (code < 0 || !handle->chip.has_quad_enable_bit) {
        return code;
    }
    before &= 1 << handle->chip.quad_enable_bit_pos;
    if (spi_nand_read_register(handle, REG_CONFIG, &after) != ESP_OK ||
        ((before & ~after) && spi_nand_write_register(handle, REG_CONFIG, after | before) != ESP_OK)) {
        return THERMOCLINE_DEVICE;
    }
    return 0;
}

static int format(struct state *state)
{
    uint32_t spare = state->nand.blocks * CONFIG_THERMOCLINE_NAND_SPARE_PERCENT / 100;
    uint64_t most = thermocline_most_pages(&state->nand, PLACEMENT, spare);
    uint32_t pages = (uint32_t)(most * (100 - CONFIG_THERMOCLINE_NAND_OVER_PROVISIONING) / 100);

    ESP_LOGW(TAG, "making an empty store of %u pages: what the chip held is lost", (unsigned)pages);
    return thermocline_format(&state->store, &state->nand, VICTIM, PLACEMENT, state->memory, state->bytes, pages, spare);
}

static int open_store(spi_nand_flash_device_t *handle)
{
    struct state *state = state_of(handle);
    uint32_t map;
    int code = open_chip(handle);

    if (code < 0) {
        return code;
    }
    if (state->nand.page_size != handle->chip.page_size || state->nand.blocks != handle->chip.num_blocks ||
        state->nand.pages != 1u << handle->chip.log2_ppb) {
        ESP_LOGE(TAG, "spi_nand_flash has another shape of this chip");
        return THERMOCLINE_SHAPE;
    }
    map = (uint32_t)THERMOCLINE_MAP_PAGES(state->nand.blocks, state->nand.pages, state->nand.page_size);
    state->bytes = thermocline_ram(&state->nand, map * CONFIG_THERMOCLINE_NAND_CHANGES);
    state->memory = heap_caps_malloc(state->bytes, MALLOC_CAP_DEFAULT);
    if (state->memory == NULL) {
        return THERMOCLINE_MEMORY;
    }
    code = thermocline_mount(&state->store, &state->nand, VICTIM, PLACEMENT, state->memory, state->bytes);
#if CONFIG_THERMOCLINE_NAND_FORMAT
    if (code == THERMOCLINE_NOT_FORMATTED) {
        code = format(state);
    }
#endif
    return code;
}

/* spi_nand_flash_init_device does not look at the answer: whatever is asked of a store that is not open is an error then. */
static esp_err_t nand_init(spi_nand_flash_device_t *handle, void *block_device)
{
    struct state *state = heap_caps_calloc(1, sizeof(struct state), MALLOC_CAP_DEFAULT);
    int code;

    (void)block_device;
    handle->ops_priv_data = state;
    if (state == NULL) {
        return ESP_ERR_NO_MEM;
    }
    code = open_store(handle);
    if (code < 0) {
        ESP_LOGE(TAG, "no store: %s", thermocline_error_text(code));
    }
    return error_of(code);
}

/* The component calls this after erase_chip too, and uses the device then: detaching is what ends it. */
static esp_err_t nand_deinit(spi_nand_flash_device_t *handle)
{
    (void)handle;
    return ESP_OK;
}

/* The operations. A handle without memory for its state has no store. */

static thermocline *store_of(spi_nand_flash_device_t *handle)
{
    static thermocline none;
    struct state *state = state_of(handle);

    return state ? &state->store : &none;
}

static esp_err_t nand_read_page(spi_nand_flash_device_t *handle, uint8_t *buffer, uint32_t page)
{
    return error_of(thermocline_read(store_of(handle), page, buffer));
}

static esp_err_t nand_write_page(spi_nand_flash_device_t *handle, const uint8_t *buffer, uint32_t page)
{
    return error_of(thermocline_write(store_of(handle), page, buffer));
}

static esp_err_t nand_trim_page(spi_nand_flash_device_t *handle, uint32_t page)
{
    return error_of(thermocline_trim(store_of(handle), page));
}

static esp_err_t nand_sync(spi_nand_flash_device_t *handle)
{
    return error_of(thermocline_flush(store_of(handle)));
}

static esp_err_t nand_copy_page(spi_nand_flash_device_t *handle, uint32_t from, uint32_t to)
{
    int code = thermocline_read(store_of(handle), from, handle->read_buffer);

    if (code == 0) {
        return nand_trim_page(handle, to);
    }
    return code < 0 ? error_of(code) : nand_write_page(handle, handle->read_buffer, to);
}

static esp_err_t nand_get_capacity(spi_nand_flash_device_t *handle, uint32_t *pages)
{
    *pages = thermocline_pages(store_of(handle));
    return *pages ? ESP_OK : ESP_ERR_INVALID_STATE;
}

static esp_err_t nand_gc(spi_nand_flash_device_t *handle)
{
    return error_of(thermocline_clean(store_of(handle), STEP));
}

/* Beneath the store: its pages in that block are lost. */
static esp_err_t nand_erase(spi_nand_flash_device_t *handle, uint32_t block)
{
    struct state *state = state_of(handle);

    if (state == NULL || state->nand.erase == NULL) {
        return ESP_ERR_INVALID_STATE;
    }
    if (block >= state->nand.blocks) {
        return ESP_ERR_INVALID_ARG;
    }
    return state->nand.erase(state->nand.context, block) == THERMOCLINE_NAND_OK ? ESP_OK : ESP_ERR_NOT_FINISHED;
}

/* All good blocks, and an empty store. */
static esp_err_t nand_erase_all(spi_nand_flash_device_t *handle)
{
    struct state *state = state_of(handle);

    if (state == NULL || state->memory == NULL) {
        return ESP_ERR_INVALID_STATE;
    }
    for (uint32_t block = 0; block < state->nand.blocks; block++) {
        int bad = state->nand.is_bad(state->nand.context, block);

        if (bad < 0 || bad > 1) {
            return error_of(THERMOCLINE_DEVICE);
        }
        /* One that fails is found again when the store is made, and marked. */
        if (bad == 0) {
            (void)nand_erase(handle, block);
        }
    }
    return error_of(format(state));
}

static const spi_nand_ops operations = {
    .init = nand_init,
    .deinit = nand_deinit,
    .read = nand_read_page,
    .write = nand_write_page,
    .erase_chip = nand_erase_all,
    .erase_block = nand_erase,
    .trim = nand_trim_page,
    .sync = nand_sync,
    .copy_sector = nand_copy_page,
    .get_capacity = nand_get_capacity,
    .gc = nand_gc,
};

/* What the linker calls in place of the component's functions. */
esp_err_t __wrap_nand_wl_attach_ops(spi_nand_flash_device_t *handle);
esp_err_t __wrap_nand_wl_detach_ops(spi_nand_flash_device_t *handle);

esp_err_t __wrap_nand_wl_attach_ops(spi_nand_flash_device_t *handle)
{
    if (handle == NULL) {
        return ESP_ERR_INVALID_ARG;
    }
    handle->ops = &operations;
    return ESP_OK;
}

/* An orderly end: the next mount reads a snapshot. */
esp_err_t __wrap_nand_wl_detach_ops(spi_nand_flash_device_t *handle)
{
    struct state *state = state_of(handle);

    if (state != NULL) {
        (void)thermocline_checkpoint(&state->store);
        free(state->memory);
        free(state);
    }
    handle->ops_priv_data = NULL;
    handle->ops = NULL;
    return ESP_OK;
}

thermocline *thermocline_nand_lock(spi_nand_flash_device_t *handle)
{
    xSemaphoreTake(handle->mutex, portMAX_DELAY);
    return store_of(handle);
}

void thermocline_nand_unlock(spi_nand_flash_device_t *handle)
{
    xSemaphoreGive(handle->mutex);
}
