/*
 * The drop-in on a simulated W25N01GV, through the component's functions: all operations, a chip and a heap that fail, a loss of power
 * within commands, two threads at once.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "esp.h"
#include "thermocline_nand.h"

#define PAGE 2048
/* Pages that are used. */
#define USED 256

static spi_nand_flash_device_t *device;
/* The versions that a page may hold: several after a loss of power during a write. */
static struct page {
    uint32_t may[8], count;
} pages[USED];
static uint32_t version;

static void holds_alone(uint32_t page, uint32_t holds)
{
    pages[page] = (struct page){{holds}, 1};
}

static void all_hold(uint32_t holds)
{
    for (uint32_t page = 0; page < USED; page++)
        holds_alone(page, holds);
}

static uint32_t draw(uint32_t below)
{
    static uint32_t state = 1;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

static void fill(uint32_t *into, uint32_t page, uint32_t holds)
{
    for (uint32_t i = 0; i < PAGE / 4; i++) {
        into[i] = holds == 0 ? 0 : i == 0 ? holds : holds * 2654435761u + page * 40503u + i;
    }
}

static uint32_t version_of(uint32_t page)
{
    uint32_t data[PAGE / 4], should[PAGE / 4];

    require(spi_nand_flash_read_page(device, (uint8_t *)data, page) == ESP_OK);
    fill(should, page, data[0]);
    require(memcmp(data, should, PAGE) == 0);
    return data[0];
}

static void check_all(void)
{
    for (uint32_t page = 0; page < USED; page++) {
        uint32_t holds = version_of(page), i = 0;

        while (i < pages[page].count && pages[page].may[i] != holds)
            i++;
        require(i < pages[page].count);
    }
}

static esp_err_t write_one(void)
{
    uint32_t data[PAGE / 4], page = draw(USED);
    esp_err_t code;

    fill(data, page, ++version);
    code = spi_nand_flash_write_page(device, (uint8_t *)data, page);
    if (code == ESP_OK)
        holds_alone(page, version);
    else
        pages[page].may[pages[page].count++] = version;
    require(pages[page].count < 8);
    return code;
}

static void start(void)
{
    spi_nand_flash_config_t config = {0};

    require(spi_nand_flash_init_device(&config, &device) == ESP_OK);
}

static void start_again(void)
{
    spi_nand_flash_deinit_device(device);
    start();
}

static void test_operations(void)
{
    static uint8_t data[PAGE];
    uint32_t count = 0;
    uint8_t configuration;
    struct thermocline_health health;
    thermocline *store;

    all_hold(0);
    start();
    require(spi_nand_flash_get_page_count(device, &count) == ESP_OK && count > 56000 && count < 60000);
    /* The four lines of the component stay on. */
    xSemaphoreTake(device->mutex, portMAX_DELAY);
    require(spi_nand_read_register(device, REG_CONFIG, &configuration) == ESP_OK && (configuration & 1));
    xSemaphoreGive(device->mutex);

    require(spi_nand_flash_read_page(device, data, count) == ESP_ERR_INVALID_ARG);
    require(spi_nand_flash_write_page(device, data, count) == ESP_ERR_INVALID_ARG);
    require(spi_nand_flash_trim(device, count) == ESP_ERR_INVALID_ARG);
    require(spi_nand_flash_copy_page(device, count, 0) == ESP_ERR_INVALID_ARG);
    require(spi_nand_flash_read_page(device, data, count - 1) == ESP_OK && data[0] == 0);
    for (int i = 0; i < 2000; i++)
        require(write_one() == ESP_OK);
    check_all();
    fill((uint32_t *)data, 7, 99);
    require(spi_nand_flash_write_page(device, data, 7) == ESP_OK && spi_nand_flash_copy_page(device, 7, 300) == ESP_OK);
    memset(data, 0, PAGE);
    require(spi_nand_flash_read_page(device, data, 300) == ESP_OK && ((uint32_t *)data)[0] == 99);
    /* A copy of nothing is nothing. */
    require(spi_nand_flash_copy_page(device, 400, 300) == ESP_OK);
    require(spi_nand_flash_read_page(device, data, 300) == ESP_OK && ((uint32_t *)data)[0] == 0);
    holds_alone(7, 99);
    require(spi_nand_flash_gc(device) == ESP_OK);
    store = thermocline_nand_lock(device);
    thermocline_health(store, &health);
    thermocline_nand_unlock(device);
    require(health.free_blocks > 100);

    require(spi_nand_flash_trim(device, 5) == ESP_OK && spi_nand_flash_sync(device) == ESP_OK);
    holds_alone(5, 0);
    /* The power fails, and nothing is written any more. */
    thermocline_simulated_cut(&chip, 0);
    require(spi_nand_flash_write_page(device, data, 5) >= ESP_ERR_FLASH_BASE);
    spi_nand_flash_deinit_device(device);
    thermocline_simulated_power_on(&chip);
    start();
    check_all();
    /* In good order: a snapshot is read, in a third of the commands that it takes without. */
    transactions = 0;
    start_again();
    require(transactions < 1000);
    check_all();

    require(spi_nand_erase_chip(device) == ESP_OK);
    all_hold(0);
    check_all();
    for (int i = 0; i < 300; i++)
        require(write_one() == ESP_OK);
    start_again();
    check_all();
    require(device->ops->erase_block(device, 1024) == ESP_ERR_INVALID_ARG);
}

/* The power fails after so many bytes on the bus, while pages are written. */
static void test_cuts(void)
{
    for (int i = 0; i < 40; i++) {
        esp_err_t code = ESP_OK;

        for (int j = 0; j < 20; j++)
            require(write_one() == ESP_OK);
        thermocline_simulated_cut(&chip, draw(20000));
        while (code == ESP_OK)
            code = write_one();
        require(code >= ESP_ERR_FLASH_BASE);
        spi_nand_flash_deinit_device(device);
        thermocline_simulated_power_on(&chip);
        start();
        check_all();
    }
}

/* No store is open: all answers are errors, and the end is in good order. */
static void nothing_is_open(void)
{
    static uint8_t data[PAGE];
    uint32_t count = 1;

    require(spi_nand_flash_get_page_count(device, &count) == ESP_ERR_INVALID_STATE && count == 0);
    require(spi_nand_flash_read_page(device, data, 0) == ESP_ERR_INVALID_STATE);
    require(spi_nand_flash_write_page(device, data, 0) == ESP_ERR_INVALID_STATE);
    require(spi_nand_flash_copy_page(device, 0, 1) == ESP_ERR_INVALID_STATE);
    require(spi_nand_flash_trim(device, 0) == ESP_ERR_INVALID_STATE);
    require(spi_nand_flash_sync(device) == ESP_ERR_INVALID_STATE);
    require(spi_nand_flash_gc(device) == ESP_ERR_INVALID_STATE);
    require(spi_nand_erase_chip(device) == ESP_ERR_INVALID_STATE);
    spi_nand_flash_deinit_device(device);
}

static void test_failures(void)
{
    spi_nand_flash_deinit_device(device);
    for (allocations_left = 0; allocations_left < 2; allocations_left++) {
        long left = allocations_left;

        start();
        nothing_is_open();
        allocations_left = left;
    }
    allocations_left = -1;
    blocks_known = 512;
    start();
    nothing_is_open();
    blocks_known = 1024;
    thermocline_simulated_cut(&chip, 0);
    start();
    nothing_is_open();
    thermocline_simulated_power_on(&chip);
    start();
    check_all();
}

static void *write_and_read(void *first)
{
    uint32_t data[PAGE / 4];

    for (uint32_t i = 1; i <= 500; i++) {
        uint32_t page = *(uint32_t *)first + 2 * (i * 7919 % 50);

        fill(data, page, i);
        require(spi_nand_flash_write_page(device, (uint8_t *)data, page) == ESP_OK);
        require(version_of(page) == i);
    }
    return NULL;
}

static void test_threads(void)
{
    uint32_t firsts[] = {0, 1};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        require(pthread_create(&threads[i], NULL, write_and_read, &firsts[i]) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    thermocline_simulated_w25n01gv(&chip);
    test_operations();
    test_cuts();
    test_failures();
    test_threads();
    spi_nand_flash_deinit_device(device);
    printf("W25N01GV: %u pages written; the power failed 41 times\n", (unsigned)version);
    return 0;
}
