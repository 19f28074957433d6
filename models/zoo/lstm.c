/**
 * @file lstm.c
 * A classifier of sequences of different lengths: one LSTM layer, softmax on its last output.
 * Hochreiter, Schmidhuber, 1997, with the forget gate of Gers et al., 2000.
 */
#include "models/zoo/network.h"

typedef struct lstm_params {
    long units;
} lstm_params;

static dsgd_status lstm_build(const void *params, const dsgd_data *data, dsgd_network *network,
                              dsgd_error *error)
{
    const lstm_params *p = params;
    dsgd_builder b = dsgd_network_begin(network, "lstm", data, DSGD_LOSS_CROSS_ENTROPY, error);
    dsgd_network_wants(&b, DSGD_DATA_SEQUENCES, "sequences");
    dsgd_network_lstm(&b, (double)p->units);
    dsgd_network_last_row(&b);
    return dsgd_network_end(&b);
}

static const dsgd_option lstm_options[] = {
    DSGD_OPTION_LONG(lstm_params, units, 32, 1, 4096, "units", "of the recurrent layer"),
    DSGD_OPTION_END,
};

DSGD_MODEL(lstm, .summary = "one LSTM layer over sequences of different lengths, softmax",
           .reference = "Hochreiter, Schmidhuber, Neural Computation 9(8), 1997",
           .params_size = sizeof(lstm_params), .options = lstm_options);
