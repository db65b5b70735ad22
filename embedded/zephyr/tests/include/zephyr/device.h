#include <zephyr/api.h>
