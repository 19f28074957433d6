/**
 * @file expenses.c
 * Computes the energy and the price of the GPUs of a platform.
 */
#include "traces/platform.h"

#include <ctype.h>

double dsgd_platform_energy_j(const dsgd_platform *platform, int n_gpus, double virtual_s,
                              double compute_share)
{
    if (platform->busy_power_w < 0 || platform->idle_power_w < 0)
        return NAN;
    const double mean_w =
        compute_share * platform->busy_power_w + (1 - compute_share) * platform->idle_power_w;
    return n_gpus * virtual_s * mean_w;
}

bool dsgd_platform_price(const dsgd_platform *platform, dsgd_price *price)
{
    const char *const text = platform->price;
    if (text == NULL)
        return false;
    const size_t n_number = strspn(text, "0123456789.");
    const char *const currency = text + n_number + strspn(text + n_number, " ");
    /*
     * length of the currency in bytes; a currency is letters, or a sign such as € that is not ASCII
     */
    size_t n_currency = 0;
    while (isalpha((unsigned char)currency[n_currency]) ||
           (unsigned char)currency[n_currency] >= 0x80)
        n_currency++;
    if (n_currency == 0 || n_currency > DSGD_MOST_CURRENCY ||
        strcmp(currency + n_currency, "/h") != 0)
        return false;
    char *const number = dsgd_xprintf("%.*s", (int)n_number, text);
    const bool is_number = dsgd_parse_number(number, NULL, &price->per_hour);
    memcpy(price->currency, currency, n_currency);
    price->currency[n_currency] = '\0';
    return is_number;
}

dsgd_status dsgd_platform_check_expenses(const dsgd_platform *platform, dsgd_error *error)
{
    dsgd_price price;
    if ((platform->busy_power_w >= 0) != (platform->idle_power_w >= 0))
        return dsgd_refuse(error, "platform: busy_power and idle_power must be given together or "
                                  "both be absent");
    if (platform->idle_power_w > platform->busy_power_w)
        return dsgd_refuse(error, "platform: idle_power must be at most busy_power, %g W, got %g W",
                           platform->busy_power_w, platform->idle_power_w);
    if (platform->price != NULL && !dsgd_platform_price(platform, &price))
        return dsgd_refuse(
            error,
            "platform: price must be a number and a currency per hour, such as 2.5 USD/h, got `%s`",
            platform->price);
    for (size_t i = 0; i < platform->regions.n && platform->price == NULL; i++)
        if (dsgd_regions(platform)[i].price > 0)
            return dsgd_refuse(
                error,
                "platform: regions: `%.60s` has a price, but the platform has none. Set "
                "price, for the currency, such as `price: 0 USD/h`",
                dsgd_regions(platform)[i].name);
    return DSGD_OK;
}
