#include "esp_api.h"
