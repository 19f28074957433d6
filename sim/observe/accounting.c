/**
 * @file accounting.c Counts shares of time, messages, ages of values, and times of steps.
 */
#include "base/round.h"
#include "sim/engine/engine.h"
#include "sim/observe/observe.h"
#include "sim/result.h"

/* --- functions that count during the run ------------------------------------------------------ */

/** Returns the length of the intersection of the intervals [a, b] and @p with. */
static double overlap_s(double a, double b, dsgd_interval with)
{
    return dsgd_greater(dsgd_less(b, with.end_s) - dsgd_greater(a, with.since_s), 0);
}

static void record_communication(const dsgd_worker *w, double since_s, double end_s)
{
    const dsgd_span span = {DSGD_SPAN_OF_HOST(COMMUNICATE), .host = w->host, .since_s = since_s,
                            .end_s = end_s};
    if (end_s > since_s)
        dsgd_timeline_record(w->engine, span);
}

/**
 * Returns the interval of the worker's last computation. If it still runs, the interval ends at @p
 * to_s.
 */
static dsgd_interval last_computation(const dsgd_worker *w, double to_s)
{
    return (dsgd_interval){w->gpu.computation.since_s,
                           dsgd_computing(w) ? to_s : w->gpu.computation.end_s};
}

/** Records for the timeline the parts of [since_s, to_s] that do not overlap with computation. */
static void record_exposed(const dsgd_worker *w, double since_s, double to_s)
{
    for (size_t i = 0; i <= w->accounts.n_earlier; i++) {
        const dsgd_interval hidden =
            i < w->accounts.n_earlier ? w->accounts.earlier[i] : last_computation(w, to_s);
        if (hidden.end_s <= since_s || hidden.since_s >= to_s)
            continue;
        record_communication(w, since_s, hidden.since_s);
        since_s = hidden.end_s;
    }
    record_communication(w, since_s, to_s);
}

/**
 * Counts the part of a communication from @p from_s to @p to_s that does not overlap with
 * computation. Discards the earlier computations that end before @p to_s.
 */
static void count_communication(dsgd_worker *w, double from_s, double to_s)
{
    const double start_s =
        from_s > w->accounts.counted_until_s ? from_s : w->accounts.counted_until_s;
    w->accounts.counted_until_s = to_s;
    if (w->engine->accounts.timeline != NULL)
        record_exposed(w, start_s, to_s);
    double hidden_s = overlap_s(start_s, to_s, last_computation(w, to_s));
    const size_t n = w->accounts.n_earlier;
    /* in the list, the newest earlier computation comes first, then the others in their order */
    for (size_t i = 0; i < n; i++)
        hidden_s += overlap_s(start_s, to_s, w->accounts.earlier[i == 0 ? n - 1 : i - 1]);
    w->accounts.n_earlier = 0;
    for (size_t i = 0; i < n; i++)
        if (w->accounts.earlier[i].end_s > to_s)
            w->accounts.earlier[w->accounts.n_earlier++] = w->accounts.earlier[i];
    const double exposed_s = to_s - start_s - hidden_s;
    if (exposed_s > 0)
        w->accounts.communicated_s += exposed_s;
}

static void append(dsgd_interval **list, size_t *n, dsgd_interval interval)
{
    *list = dsgd_xrealloc(*list, *n + 1, sizeof **list);
    (*list)[(*n)++] = interval;
}

/** Counts the postponed communication that ended before or at @p until_s. */
static void count_put_off(dsgd_worker *w, double until_s)
{
    size_t n = 0;
    for (; n < w->accounts.n_put_off && w->accounts.put_off[n].end_s <= until_s; n++)
        count_communication(w, w->accounts.put_off[n].since_s, w->accounts.put_off[n].end_s);
    w->accounts.n_put_off -= n;
    if (n > 0)
        memmove(w->accounts.put_off, w->accounts.put_off + n,
                w->accounts.n_put_off * sizeof *w->accounts.put_off);
}

void dsgd_count_communication_by(dsgd_worker *w, double from_s, double to_s)
{
    count_put_off(w, to_s);
    count_communication(w, from_s, to_s);
}

void dsgd_count_communication(dsgd_worker *w, double from_s)
{
    const dsgd_interval interval = {from_s, dsgd_now_s()};
    if (w->accounts.n_uncounted > 0)
        append(&w->accounts.put_off, &w->accounts.n_put_off, interval);
    else
        count_communication(w, from_s, interval.end_s);
}

void dsgd_count_later_end(dsgd_worker *w)
{
    if (--w->accounts.n_uncounted == 0)
        count_put_off(w, INFINITY);
}

/*
 * Largest number of earlier computations that are kept. If a communication spans more computations,
 * it is counted as if it began after the oldest ones.
 */
enum { MOST_EARLIER = 65 };

void dsgd_count_computation(dsgd_worker *w)
{
    const dsgd_interval last = {w->gpu.computation.since_s, w->gpu.computation.end_s};
    if (last.end_s <= w->accounts.counted_until_s)
        return;
    if (w->accounts.n_uncounted == 0 && w->accounts.n_earlier == MOST_EARLIER)
        memmove(w->accounts.earlier, w->accounts.earlier + 1,
                --w->accounts.n_earlier * sizeof *w->accounts.earlier);
    append(&w->accounts.earlier, &w->accounts.n_earlier, last);
}

enum { MANTISSA_BITS = 52 }; /* number of bits below the exponent and the sign of a double */

/*
 * Adding 1 to the bits of a positive double gives the next larger double. The following functions
 * therefore replace nextafter() and ilogb() without calls of library functions.
 */

static uint64_t bits_of(double x)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double number_of(uint64_t bits)
{
    double x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/**
 * Returns true if adding @p x has the same effect, including rounding, on every double from @p sum
 * to the next power of two. Then several additions of x can be made in any order, or as one
 * addition. Two successive doubles are enough to decide this, because only ties are rounded up for
 * one of them and down for the other. Adds the effect of @p n additions of x to *end. All arguments
 * must be >= 0.
 */
static bool add_evenly(double sum, double x, int64_t n, double *end)
{
    const double next = number_of(bits_of(sum) + 1);
    const double effect = (sum + x) - sum;
    *end += (double)n * effect;
    return (next + x) - next == effect &&
           bits_of(*end) >> MANTISSA_BITS == bits_of(sum) >> MANTISSA_BITS;
}

/**
 * Returns sum + x + x + ..., where x is added @p n times, with the same rounding as single
 * additions.
 */
static double add_times(double sum, double x, int64_t n)
{
    double end = sum;
    if (add_evenly(sum, x, n, &end))
        return end;
    for (int64_t i = 0; i < n; i++)
        sum += x;
    return sum;
}

/** Returns the histogram bin of an age. The last bin also counts all larger ages. */
static double *bin_of(dsgd_ages *ages, double age)
{
    const size_t bin = age < DSGD_MOST_AGES - 1 ? (size_t)age : DSGD_MOST_AGES - 1;
    if (bin >= ages->n) {
        ages->share = dsgd_xrealloc(ages->share, bin + 1, sizeof *ages->share);
        while (ages->n <= bin)
            ages->share[ages->n++] = 0;
    }
    return &ages->share[bin];
}

static void add(struct dsgd_sum *to, double *largest, dsgd_lag age, double weight)
{
    to->sum += weight * age.mean;
    to->weight += weight;
    *largest = dsgd_greater(*largest, age.max);
}

static double age_of(const dsgd_worker *user, int64_t by_owner, size_t piece, int64_t stamp)
{
    const int64_t by_user = dsgd_local_steps(user, piece);
    const int64_t now = by_owner < by_user ? by_owner : by_user;
    return now > stamp ? (double)(now - stamp) : 0;
}

void dsgd_count_age(dsgd_worker *user, int owner, size_t piece, int64_t stamp, double weight)
{
    dsgd_engine *const engine = user->engine;
    /* returns early, because a contribution of zeros has no age */
    if (stamp < 0)
        return;
    const double age = age_of(user, dsgd_local_steps(&engine->workers[owner], piece), piece, stamp);
    add(&engine->accounts.staleness, &engine->result->staleness_max, (dsgd_lag){age, age}, weight);
    *bin_of(&engine->result->ages, age) += weight;
}

bool dsgd_count_ages(dsgd_worker *user, size_t piece, const dsgd_alike *alike, size_t n,
                     double weight)
{
    struct dsgd_sum *const staleness = &user->engine->accounts.staleness;
    dsgd_run_result *const result = user->engine->result;
    double end = staleness->sum;
    for (size_t i = 0; i < n; i++) {
        const double age = age_of(user, alike[i].owner_steps, piece, alike[i].stamp);
        if (alike[i].n > 0 && !add_evenly(staleness->sum, weight * age, alike[i].n, &end))
            return false;
    }
    staleness->sum = end;
    for (size_t i = 0; i < n; i++) {
        const double age = age_of(user, alike[i].owner_steps, piece, alike[i].stamp);
        if (alike[i].n == 0)
            continue;
        double *const bin = bin_of(&result->ages, age);
        *bin = add_times(*bin, weight, alike[i].n);
        staleness->weight = add_times(staleness->weight, weight, alike[i].n);
        result->staleness_max = dsgd_greater(result->staleness_max, age);
    }
    return true;
}

void dsgd_count_lag(dsgd_engine *engine, dsgd_lag lag, double weight)
{
    add(&engine->accounts.lag, &engine->result->lag_max, lag, weight);
}

void dsgd_count_gradient(dsgd_engine *engine, dsgd_lag age, double weight)
{
    add(&engine->accounts.gradient_staleness, &engine->result->gradient_staleness_max, age, weight);
    *bin_of(&engine->result->gradient_ages, age.mean) += weight;
}

void dsgd_count_dropped(dsgd_worker *sender, int64_t step, double share)
{
    sender->engine->result->dropped++;
    /* in this case, the dropped step has not been counted yet */
    if (sender->node.step == step)
        sender->gpu.computation.share = 0;
    else
        sender->engine->progress.whole_steps -= share;
}

void dsgd_count_messages(dsgd_engine *engine, uint64_t n, double bytes)
{
    dsgd_count_events(engine, n);
    engine->result->messages += n;
    engine->result->bytes = add_times(engine->result->bytes, bytes, (int64_t)n);
}

void dsgd_count_collective(dsgd_engine *engine, bool partial, dsgd_collective how, double bytes)
{
    dsgd_run_result *const result = engine->result;
    if (bytes <= engine->accounts.largest_bytes[partial])
        return;
    engine->accounts.largest_bytes[partial] = bytes;
    *(partial ? &result->partial_collective : &result->collective) = (int)how;
}

void dsgd_count_carried(dsgd_engine *engine, int from, int to, double bytes)
{
    dsgd_carrier *const sender = &engine->accounts.carriers[from];
    dsgd_carrier *const receiver = &engine->accounts.carriers[to];
    bytes = trunc(bytes); /* SimGrid sends only whole bytes */
    if (engine->config->loads && sender->to == NULL)
        sender->to = dsgd_run_alloc(engine, (size_t)dsgd_n_hosts(engine) * sizeof *sender->to);
    if (engine->config->loads)
        sender->to[to] += bytes;
    const dsgd_platform *const platform = engine->config->platform;
    const bool inside = platform->island_hosts > 0 &&
                        dsgd_platform_same_island(platform, sender->place, receiver->place);
    sender->by[inside ? DSGD_BY_ISLAND : DSGD_BY_NIC].sent += bytes;
    receiver->by[inside ? DSGD_BY_ISLAND : DSGD_BY_NIC].received += bytes;
    if (dsgd_platform_group(platform, sender->place) !=
        dsgd_platform_group(platform, receiver->place)) {
        sender->by[DSGD_BY_GROUP].sent += bytes;
        receiver->by[DSGD_BY_GROUP].received += bytes;
    }
}

/*
 * A histogram of step times. Its size does not depend on the number of steps and workers. It is
 * equal on every machine, because bins are found from the bits of a time, not from its logarithm.
 * The width of a bin is 1/64 of a power of two, which is at most 1.6 % of a time. The bins cover
 * times from 0.2 ns to 136 years.
 */
enum { PER_POWER = 64, LEAST_POWER = -32, N_POWERS = DSGD_MOST_STEP_TIMES / PER_POWER };

struct dsgd_step_count {
    double n, sum_s;
};

static size_t step_bin_of(double step_s)
{
    int power = 0;
    const double mantissa = frexp(step_s, &power); /* mantissa is 0, or is in [1/2, 1) */
    if (mantissa == 0 || power < LEAST_POWER)
        return 0;
    if (power >= LEAST_POWER + N_POWERS)
        return DSGD_MOST_STEP_TIMES - 1;
    return (size_t)(power - LEAST_POWER) * PER_POWER + (size_t)((mantissa - 0.5) * (2 * PER_POWER));
}

void dsgd_count_step_time(dsgd_engine *engine, double step_s)
{
    if (engine->finished || engine->watch.continued)
        return;
    if (engine->accounts.step_counts == NULL)
        engine->accounts.step_counts =
            dsgd_run_alloc(engine, DSGD_MOST_STEP_TIMES * sizeof *engine->accounts.step_counts);
    struct dsgd_step_count *const count = &engine->accounts.step_counts[step_bin_of(step_s)];
    count->n++;
    count->sum_s += step_s;
}

/* --- functions that fill the result at the end of the run ------------------------------------- */

static double mean_of(struct dsgd_sum of)
{
    return of.weight > 0 ? of.sum / of.weight : 0;
}

static void sum_up_step_times(dsgd_engine *engine)
{
    dsgd_step_times *const times = &engine->result->step_times;
    const struct dsgd_step_count *const counts = engine->accounts.step_counts;
    double n = 0;
    if (counts == NULL)
        return;
    for (size_t k = 0; k < DSGD_MOST_STEP_TIMES; k++)
        n += counts[k].n;
    for (size_t k = 0; k < DSGD_MOST_STEP_TIMES; k++) {
        if (counts[k].n == 0)
            continue;
        times->bin = dsgd_xrealloc(times->bin, times->n + 1, sizeof *times->bin);
        times->bin[times->n].step_s = counts[k].sum_s / counts[k].n;
        times->bin[times->n++].share = counts[k].n / n;
    }
}

/**
 * Adds the slowness and the bubbles of stages to the result, for workers that are groups of hosts.
 */
static void sum_up_stages(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    const int n = result->n_stages = engine->hybrid.replica->n_stages;
    double bubbles_s = 0, computed_s = 0;
    result->stage_slowness = dsgd_keep((size_t)engine->n_workers * (size_t)n, sizeof(double));
    result->stage_place = dsgd_keep((size_t)engine->n_workers * (size_t)n, sizeof(int));
    for (int i = 0; i < engine->n_workers; i++) {
        const dsgd_worker *const w = &engine->workers[i];
        bubbles_s += w->gpu.bubbles_s;
        computed_s += w->gpu.computed_s + w->gpu.lost_s;
        for (int d = 0; d < n; d++) {
            const int beside = engine->hybrid.replica->n_beside;
            int slowest = d * beside;
            for (int lane = slowest; lane < (d + 1) * beside; lane++)
                slowest =
                    w->replica->lane_slow[lane] > w->replica->lane_slow[slowest] ? lane : slowest;
            result->stage_place[i * n + d] =
                engine->accounts.carriers[dsgd_cluster_host(i, slowest)].place;
            result->stage_slowness[i * n + d] =
                w->replica->slow[d] / dsgd_greater(1, (double)w->clock.steps);
        }
    }
    result->bubble_share = bubbles_s / computed_s;
}

static void sum_up_workers(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    const double p = engine->n_workers;
    double computed_s = 0;
    double exposed_s = 0;
    double sent_bytes = 0;
    for (int i = 0; i < engine->n_workers; i++) {
        const dsgd_worker *const w = &engine->workers[i];
        const double compute_s =
            w->gpu.computed_s +
            (dsgd_computing(w) ? result->virtual_s - w->gpu.computation.since_s : 0);
        dsgd_time_shares *const shares = &result->worker_shares[i];
        shares->compute = compute_s / result->virtual_s;
        shares->lost = w->gpu.lost_s / result->virtual_s;
        shares->communicate =
            fmin(w->accounts.communicated_s / result->virtual_s, 1 - shares->compute);
        shares->wait = fmax(0, 1 - shares->compute - shares->communicate);
        result->worker_steps[i] = (double)w->clock.steps;
        for (int lane = 0; lane < engine->layout.n_lanes; lane++)
            result->worker_places[i * engine->layout.n_lanes + lane] =
                engine->accounts.carriers[dsgd_cluster_host(i, lane)].place;
        sent_bytes += w->accounts.sent_bytes;
        result->sent_max_bytes = fmax(result->sent_max_bytes, w->accounts.sent_bytes);
        result->shares.compute += shares->compute / p;
        result->shares.wait += shares->wait / p;
        result->shares.communicate += shares->communicate / p;
        result->shares.lost += shares->lost / p;
        computed_s += compute_s;
        exposed_s += w->clock.exposed_s;
    }
    result->sent_mean_bytes = sent_bytes / p;
    if (engine->hybrid.replica != NULL)
        sum_up_stages(engine);
    result->exposed_mean_s =
        engine->progress.steps > 0 ? exposed_s / (double)engine->progress.steps : NAN;
    result->ideal_s = computed_s / p;
}

static double more_of(struct dsgd_carried carried)
{
    return fmax(carried.sent, carried.received);
}

static void add_loads(dsgd_run_result *result, const char *name, int i, struct dsgd_carried carried,
                      double bytes_per_s)
{
    result->loads = dsgd_xrealloc(result->loads, result->n_loads + 2, sizeof *result->loads);
    result->loads[result->n_loads++] =
        (dsgd_load){dsgd_xprintf("%s%d_UP", name, i), carried.sent, bytes_per_s};
    result->loads[result->n_loads++] =
        (dsgd_load){dsgd_xprintf("%s%d_DOWN", name, i), carried.received, bytes_per_s};
}

static double bytes_per_s_of(const dsgd_platform *platform, dsgd_way_out way, int i)
{
    return way == DSGD_BY_NIC     ? dsgd_platform_nic_bytes_per_s(platform, i)
           : way == DSGD_BY_GROUP ? platform->group_bytes_per_s
                                  : platform->island_bytes_per_s;
}

/**
 * Returns the seconds that the busiest connection of kind @p way needs for its bytes in one
 * direction. If @p lists is true, adds the loads of all used connections of this kind to the
 * result.
 */
static double busiest_of(dsgd_engine *engine, dsgd_way_out way, bool lists)
{
    static const char *const names[] = {"nic", "out", "island"};
    const dsgd_platform *const platform = engine->config->platform;
    const int64_t hosts_each[] = {dsgd_platform_nic_hosts(platform),
                                  dsgd_platform_group_hosts(platform), platform->island_hosts > 0};
    /*
     * number of hosts that share a connection of this kind; 0 if the platform has no such
     * connection
     */
    const int64_t hosts = hosts_each[way];
    double longest_s = 0;
    int last = -1;
    for (int i = 0; hosts > 0 && i < dsgd_n_hosts(engine); i++)
        last =
            engine->accounts.carriers[i].place > last ? engine->accounts.carriers[i].place : last;
    const int n = hosts > 0 ? last / (int)hosts + 1 : 0;
    struct dsgd_carried *const all = dsgd_run_alloc(engine, (size_t)n * sizeof *all);
    for (int i = 0; n > 0 && i < dsgd_n_hosts(engine); i++) {
        const dsgd_carrier *const host = &engine->accounts.carriers[i];
        all[host->place / hosts].sent += host->by[way].sent;
        all[host->place / hosts].received += host->by[way].received;
    }
    for (int i = 0; i < n; i++)
        if (more_of(all[i]) > 0) {
            const double bytes_per_s = bytes_per_s_of(platform, way, i);
            longest_s = fmax(longest_s, more_of(all[i]) / bytes_per_s);
            if (lists)
                add_loads(engine->result, names[way], i, all[i], bytes_per_s);
        }
    dsgd_run_free(all);
    return longest_s;
}

/**
 * Returns the seconds that the busiest connection of all kinds needs for its bytes. If @p lists is
 * true, adds all loads to the result.
 */
static double busiest_s(dsgd_engine *engine, bool lists)
{
    double longest_s = 0;
    for (int way = 0; way < DSGD_WAYS_OUT; way++)
        longest_s = fmax(longest_s, busiest_of(engine, (dsgd_way_out)way, lists));
    return longest_s;
}

/** Returns the price of all bytes that left their region. */
static double transfer_cost(const dsgd_engine *engine)
{
    const dsgd_platform *const platform = engine->config->platform;
    double cost = 0;
    for (int i = 0; platform->regions.n > 0 && i < dsgd_n_hosts(engine); i++) {
        const dsgd_carrier *const host = &engine->accounts.carriers[i];
        const dsgd_region *const region =
            &dsgd_regions(platform)[host->place / platform->group_hosts];
        cost += host->by[DSGD_BY_GROUP].sent / 1e9 * region->price;
    }
    return cost;
}

void dsgd_sum_up_loads(dsgd_engine *engine)
{
    dsgd_run_result *const result = engine->result;
    if (!engine->config->loads)
        return;
    result->n_loads = dsgd_list_loads(engine, &result->loads);
    if (result->n_loads == 0)
        busiest_s(engine, true);
}

/**
 * Returns the part of a worker's current step that counts if time ends the run. The part is age / m
 * - c, for steps with mean m and squared coefficient of variation c. Reason: by time T a renewal
 * process has made T / m - (1 - c) / 2 steps on average. The mean age of the current step is m (1 +
 * c) / 2. The sum of steps and part is T / m. This is exact for steps of equal length.
 */
static double begun_part(const dsgd_worker *w, double end_s)
{
    /*
     * with policy quorum, n includes the steps that other workers made while this worker was absent
     */
    const double n = (double)w->node.step;
    const double mean_s = w->clock.since_s / n;
    if (w->clock.stopped || w->presence.state != DSGD_HERE || n < 1)
        return 0;
    double variance_s2 = n > 1 ? (w->clock.squares_s2 - n * mean_s * mean_s) / (n - 1) : 0;
    /*
     * mean_s includes the times in which the worker was down, so this variance can become negative
     */
    if (w->engine->failures.others_continue)
        variance_s2 = fmax(0, variance_s2);
    const double part = (end_s - w->clock.since_s - variance_s2 / mean_s) / mean_s;
    return dsgd_less(1, part) - w->clock.in_barrier;
}

/**
 * Returns the number of steps that were done per counted step. The number is more than 1 if time
 * ended the run during steps, because each worker had then done a part of its step.
 */
static double steps_for_one(const dsgd_engine *engine)
{
    const double end_s = engine->config->until.seconds - engine->failures.away_s;
    double parts = 0;
    if (engine->config->until.seconds > 0 && engine->result->virtual_s >= end_s * (1 - 1e-12))
        for (int i = 0; i < engine->n_workers; i++)
            parts += begun_part(&engine->workers[i], end_s);
    return 1 + parts / dsgd_greater(1, (double)engine->progress.steps);
}

void dsgd_sum_up(dsgd_engine *engine)
{
    const dsgd_run_accounts *const accounts = &engine->accounts;
    dsgd_run_result *const result = engine->result;
    const dsgd_run_config *const config = engine->config;
    const double p = engine->n_workers;
    result->steps = (double)engine->progress.steps / p;
    result->samples = engine->progress.whole_steps * config->workload->samples;
    if (dsgd_learns(config))
        result->learn_samples = engine->progress.whole_steps * (double)config->learning->batch;
    const double for_one = steps_for_one(engine);
    result->samples_per_s =
        result->virtual_s > 0 ? result->samples / result->virtual_s * for_one : NAN;
    result->step_mean_s =
        engine->progress.steps > 0 ? result->virtual_s / result->steps / for_one : NAN;
    result->staleness_mean = mean_of(accounts->staleness);
    result->lag_mean = mean_of(accounts->lag);
    result->gradient_staleness_mean = mean_of(accounts->gradient_staleness);
    for (size_t i = 0; i < result->ages.n; i++)
        result->ages.share[i] /= accounts->staleness.weight;
    for (size_t i = 0; i < result->gradient_ages.n; i++)
        result->gradient_ages.share[i] /= accounts->gradient_staleness.weight;
    result->partial_skipped /= (double)engine->layout.n_pieces;
    result->partial_duplicates /= (double)engine->layout.n_pieces;
    result->partial_active_mean =
        accounts->versions > 0 ? (double)accounts->fresh / (double)accounts->versions : NAN;
    result->transfer_cost = transfer_cost(engine);
    result->n_pieces = engine->layout.n_pieces;
    for (size_t k = 0; k < engine->layout.n_pieces; k++)
        result->piece_bytes = fmax(result->piece_bytes, engine->layout.piece_bytes[k]);
    result->link_s = dsgd_platform_has_numbers(config->platform) ? busiest_s(engine, false) : NAN;
    sum_up_workers(engine);
    sum_up_step_times(engine);
}
