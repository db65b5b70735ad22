/* Where dhara's table would come from: whoever gets here was not given ours. */
#include "esp.h"

esp_err_t nand_wl_attach_ops(spi_nand_flash_device_t *handle)
{
    (void)handle;
    require(!"dhara's table");
    return ESP_FAIL;
}

esp_err_t nand_wl_detach_ops(spi_nand_flash_device_t *handle)
{
    return nand_wl_attach_ops(handle);
}
