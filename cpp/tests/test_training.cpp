// The training loop: what must hold of every composition, loss, optimiser and number of threads; and the weights of
// single steps, read off how far the rows moved. Ends with 1 when anything differs.
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "training_problem.hpp"

namespace {

using namespace topwise;

struct Named {
    std::string name;
    LossData loss;
    bool whole;  // looks at more than one positive or all items: the items stay in one block
};

std::vector<Named> all_losses(std::int64_t items) {
    const auto few = static_cast<std::int32_t>(items - 1);
    return {{"AUC", LossData::auc(), false},
            {"WARP", LossData::warp(items, few), false},
            {"WARP of 3 violators", LossData::warp(items, few, 3), false},
            {"corrected WARP", LossData::warp(items, few, 1, true), false},
            {"corrected WARP of 2 violators", LossData::warp(items, few, 2, true), false},
            {"OWPC", LossData::owpc(items), true},
            {"OWPC of 2 violators, scored anew each 4 steps", LossData::owpc(items, 4, 2), true},
            {"K-OS", LossData::kos(LossData::warp(items, few), 3, 2), true},
            {"K-OS on OWPC", LossData::kos(LossData::owpc(items), 2, 1), true}};
}

// Contexts that know every item are not visited; every other event is one step.
std::int64_t steps_of_an_epoch(const Problem& problem) {
    std::int64_t steps = 0;
    for (std::int64_t c = 0; c < problem.known.view().rows(); ++c) {
        if (std::ssize(problem.known.view().row(c)) < problem.n_items) steps += std::ssize(problem.events.view().row(c));
    }
    return steps;
}

void expect_sound_rows(SideData& side, const std::string& what) {
    for (std::int64_t i = 0; i < side.count(); ++i) {
        const float* row = side.row(i);
        double norm2 = 0;
        bool finite = true, padded = true;
        for (int j = 0; j < side.width(); ++j) finite &= std::isfinite(row[j]);
        for (int j = 0; j < side.dim; ++j) norm2 += double(row[j]) * row[j];
        for (int j = side.dim + side.bias; j < side.width(); ++j) padded &= row[j] == 0;
        expect(finite, what + ": finite rows");
        expect(std::sqrt(norm2) <= side.radii[static_cast<std::size_t>(i)] * 1.0001, what + ": a row in its ball");
        expect(padded, what + ": padding of zeros");
    }
}

// Every composition with every loss, optimiser and number of threads.
void test_what_always_holds() {
    for (const Kind kind : kKinds) {
        for (const bool adagrad : {true, false}) {
            for (const bool bias : {false, true}) {
                Shape shape;
                shape.adagrad = adagrad;
                shape.bias = bias;
                shape.dim = bias ? 16 : 5;  // with the bias in a group of its own
                shape.own_rows = bias;
                for (const Named& loss : all_losses(shape.items)) {
                    for (const int threads : {1, 3}) {
                        Problem problem = make_problem(kind, shape, 5);
                        const bool content = problem.content_of_items();
                        const bool shares = content || kind == Kind::history || loss.whole;
                        const Settings settings = settings_of(threads, shares ? 1 : threads, content);
                        const std::string what = std::string(name(kind)) + ", " + loss.name + ", " +
                                                 (adagrad ? "adagrad, " : "sgd, ") + std::to_string(threads) + " threads";
                        const auto before = problem.items.copy();
                        const Progress last = problem.run(loss.loss, settings, 3, 3, 0.4F);
                        expect(last.steps == steps_of_an_epoch(problem), what + ": every event once");
                        expect(last.violations > 0 && last.violations <= last.steps, what + ": some violations");
                        expect(std::isfinite(last.loss) && last.loss > 0, what + ": a finite loss");
                        expect(problem.items.copy() != before, what + ": rows move");
                        expect_sound_rows(problem.items, what);
                        if (kind == Kind::history) continue;
                        expect_sound_rows(problem.contexts, what);
                        for (std::int64_t c = 0; bias && !problem.content_of_contexts() && c < problem.contexts.count(); ++c)
                            expect(problem.contexts.row(c)[shape.dim] == 1, what + ": a context's own 1 stays");
                    }
                }
            }
        }
    }
}

// One thread always repeats itself; three do where no two hold the same rows.
void test_the_same_seed_gives_the_same_rows() {
    const Shape shape;
    for (const Kind kind : kKinds) {
        for (const Named& loss : all_losses(shape.items)) {
            for (const int threads : {1, 3}) {
                if (threads > 1 && (kind != Kind::id_id || loss.whole)) continue;
                const auto run = [&](std::uint64_t seed) {
                    Problem problem = make_problem(kind, shape, 5);
                    const Settings settings = settings_of(threads, threads, problem.content_of_items());
                    const Progress last = problem.run(loss.loss, settings, seed, 3, 0.4F);
                    return std::tuple{problem.items.copy(), problem.contexts.copy(), last.trials, last.loss};
                };
                const std::string what = std::string(name(kind)) + ", " + loss.name;
                expect(run(3) == run(3), what + ": one seed, one result");
                expect(run(3) != run(4), what + ": another seed, another result");
            }
        }
    }
}

// Rows before `frozen` stay to the bit, and so does what no step may reach.
void test_frozen_and_untouched_rows_stay() {
    const Shape shape;
    for (const Kind kind : {Kind::id_id, Kind::id_content, Kind::content_id, Kind::content_content}) {
        for (const Named& loss : all_losses(shape.items)) {
            for (const int threads : {1, 3}) {
                Problem problem = make_problem(kind, shape, 6);
                problem.contexts.frozen = problem.contexts.features + 10;
                problem.items.frozen = problem.items.features + 15;
                // The last item is no negative of anybody, and of no events.
                const auto silent = static_cast<std::int32_t>(shape.items - 1);
                for (std::int32_t item = 0; item < silent; ++item) problem.drawable.push_back(item);
                for (std::int32_t& item : problem.events.indices) item = item == silent ? 0 : item;
                const auto contexts = problem.contexts.copy(), items = problem.items.copy();
                problem.run(loss.loss, settings_of(threads, 1, problem.content_of_items()), 3, 2, 0.4F);
                const std::string what = std::string(name(kind)) + ", " + loss.name;
                std::int64_t moved = 0;
                for (std::int64_t i = 0; i < problem.contexts.count(); ++i) {
                    if (i < problem.contexts.frozen) expect(problem.contexts.same_row(contexts, i), what + ": a frozen context");
                    moved += !problem.contexts.same_row(contexts, i);
                }
                expect(moved >= 15, what + ": contexts that are not frozen move");
                for (std::int64_t i = 0; i < problem.items.frozen; ++i)
                    expect(problem.items.same_row(items, i), what + ": a frozen item");
                expect(problem.items.same_row(items, problem.items.features + silent), what + ": an item nobody may draw");
            }
        }
    }
}

// Two tastes that every composition can tell apart.
void test_the_loss_falls() {
    Shape shape;
    shape.items = 24;
    shape.radius = 3;
    for (const Kind kind : kKinds) {
        for (const Named& loss : all_losses(shape.items)) {
            for (const int threads : {1, 3}) {
                for (const bool adagrad : {true, false}) {
                    shape.adagrad = adagrad;
                    Problem problem = make_problem(kind, shape, 7);
                    problem.weights.clear();
                    // Everything a user might like is known, so that nothing liked is a negative.
                    Rows known;
                    for (std::int64_t u = 0; u < problem.known.view().rows(); ++u) {
                        std::set<std::int32_t> row;
                        for (const std::int32_t item : problem.known.view().row(u)) row.insert(item);
                        for (auto i = static_cast<std::int32_t>(u % 2); u < shape.contexts && i < shape.items; i += 2) row.insert(i);
                        known.push_back({row.begin(), row.end()});
                    }
                    problem.known = Lists(known);
                    const bool shares = kind != Kind::id_id || loss.whole;
                    Engine engine = problem.engine(loss.loss, settings_of(threads, shares ? 1 : threads, problem.content_of_items()));
                    const double first = engine.run_epoch({1, 0, 0.1F, 0.1F}, nullptr).loss;
                    double last = 0;
                    for (int e = 1; e < 40; ++e) last = engine.run_epoch({1, e, 0.1F, 0.1F}, nullptr).loss;
                    expect(last < first / 3, std::string(name(kind)) + ", " + loss.name + ", " + std::to_string(threads) +
                                                 " threads: the loss falls from " + std::to_string(first) + " to " + std::to_string(last));
                }
            }
        }
    }
}

// A context with one event among items whose rows are known, trained by one plain step.
Problem one_step_problem(std::int64_t items, std::uint64_t seed, Kind kind = Kind::id_id) {
    Rng rng(seed);
    Problem problem;
    problem.kind = kind;
    problem.n_items = items;
    problem.events = Lists(Rows{{2}});
    problem.known = Lists(Rows{{2, 5}});
    Shape shape;
    shape.scale = 1;
    shape.adagrad = false;
    shape.radius = 1e6F;
    make_sides(problem, shape, rng);
    return problem;
}

// Which items moved, without the positive; and the weight that the context's move tells of:
// phi' - phi = rate * weight * (V_positive - mean over violators of V).
struct Step {
    std::vector<std::int32_t> negatives;
    double weight = 0;
};
Step read_step(Problem& problem, const std::vector<float>& contexts, const std::vector<float>& items, float rate) {
    Step step;
    const int width = problem.items.width();
    for (std::int32_t i = 0; i < problem.n_items; ++i)
        if (i != 2 && !problem.items.same_row(items, i)) step.negatives.push_back(i);
    if (step.negatives.size() != 1) return step;
    double along = 0, length2 = 0;
    for (int j = 0; j < width; ++j) {
        const double toward = double(items[static_cast<std::size_t>(2 * width + j)]) -
                              items[static_cast<std::size_t>(step.negatives[0] * width + j)];
        along += toward * (double(problem.contexts.row(0)[j]) - contexts[static_cast<std::size_t>(j)]);
        length2 += toward * toward;
    }
    step.weight = along / length2 / rate;
    return step;
}

std::vector<double> scores_of(Problem& problem) {
    std::vector<double> scores;
    for (std::int64_t i = 0; i < problem.n_items; ++i) {
        double score = 0;
        for (int j = 0; j < problem.items.width(); ++j) score += double(problem.items.row(i)[j]) * problem.contexts.row(0)[j];
        scores.push_back(score);
    }
    return scores;
}

// Moves the positive's row so that about so many items violate the margin.
void put_positive_above(Problem& problem, std::size_t violators) {
    std::vector<double> scores = scores_of(problem);
    std::sort(scores.rbegin(), scores.rend());
    const double threshold = (scores[violators - 1] + scores[violators]) / 2;
    const float* phi = problem.contexts.row(0);
    double length2 = 0;
    for (int j = 0; j < problem.contexts.dim; ++j) length2 += double(phi[j]) * phi[j];
    for (int j = 0; j < problem.contexts.dim; ++j)
        problem.items.row(2)[j] = static_cast<float>((threshold + 1) / length2 * phi[j]);
}

void test_warp_weighs_by_its_trials() {
    const std::int64_t items = 50;
    for (const bool corrected : {false, true}) {
        const LossData loss = LossData::warp(items, 49, 1, corrected);
        std::set<std::int64_t> trials_met;
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            Problem problem = one_step_problem(items, 21);
            put_positive_above(problem, 5);  // few violators, so that trials are many
            const auto contexts = problem.contexts.copy(), rows = problem.items.copy();
            const auto scores = scores_of(problem);
            const Progress done = problem.run(loss, settings_of(1, 1, false), seed, 1, 0.01F);
            if (done.violations == 0) continue;
            const Step step = read_step(problem, contexts, rows, 0.01F);
            expect(step.negatives.size() == 1, "WARP moves one negative");
            if (step.negatives.size() != 1) continue;
            const std::int32_t negative = step.negatives[0];
            expect(negative != 5, "a known item is no negative");
            expect(scores[static_cast<std::size_t>(negative)] > scores[2] - 1, "the negative violates the margin");
            const auto trials = static_cast<std::size_t>(done.trials);
            const double expected = corrected ? loss.trial_weights[trials] : loss.weights[49 / trials];
            expect(std::abs(step.weight - expected) < 1e-3 * expected,
                   "the weight of " + std::to_string(trials) + " trials is " + std::to_string(expected) + ", got " +
                       std::to_string(step.weight));
            trials_met.insert(done.trials);
        }
        expect(trials_met.size() >= 5 && trials_met.contains(1), "many numbers of trials are met");
    }
    // K violators in N trials: (D-1) K / N, and (D-1) (K-1) / (N-1) corrected.
    expect(LossData::warp(50, 49, 3).view().weight(7, 3) == LossData(50, 1).weights[49 * 3 / 7], "three violators");
    expect(LossData::warp(50, 49, 3, true).view().weight(7, 3) == LossData(50, 1).weights[49 * 2 / 6], "three, corrected");
    expect(LossData::warp(50, 2000).view().weight(1999, 1) == 1.0F, "the rank is 1 at least");
}

// OWPC's ranks against a naive count: as trials, and as the weight of the step.
void test_owpc_counts_exactly() {
    std::set<std::int64_t> ranks;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const std::int64_t items = 6 + static_cast<std::int64_t>(seed % 60);
        Problem problem = one_step_problem(items, seed);
        const auto contexts = problem.contexts.copy(), rows = problem.items.copy();
        const auto scores = scores_of(problem);
        std::int64_t rank = 0;
        for (std::int64_t i = 0; i < items; ++i)
            rank += i != 2 && i != 5 && scores[static_cast<std::size_t>(i)] > scores[2] - 1;
        const LossData loss = LossData::owpc(items);
        const Progress done = problem.run(loss, settings_of(1, 1, false), seed, 1, 0.01F);
        expect(done.trials == rank, "the rank is " + std::to_string(rank) + ", got " + std::to_string(done.trials));
        expect(done.violations == (rank > 0), "a violation wherever there is one");
        ranks.insert(rank);
        if (rank == 0) continue;
        const Step step = read_step(problem, contexts, rows, 0.01F);
        const double expected = loss.weights[static_cast<std::size_t>(rank)];
        expect(step.negatives.size() == 1 && std::abs(step.weight - expected) < 1e-3 * expected, "the weight of the exact rank");
    }
    expect(ranks.size() > 15, "many ranks are met");
}

// alpha x . y is a part of every score.
void test_overlap_counts_in_ranks() {
    for (const float alpha : {0.0F, 0.7F, 3.0F}) {
        Problem problem = one_step_problem(40, 31, Kind::content_content);
        problem.alpha = alpha;
        const auto compose = [](SideData& side, std::int64_t entity) {
            std::vector<double> vector(static_cast<std::size_t>(side.width())), raw(static_cast<std::size_t>(side.features));
            for (int j = 0; j < side.width(); ++j) vector[static_cast<std::size_t>(j)] = side.row(side.features + entity)[j];
            for (auto at = static_cast<std::size_t>(side.content.indptr[static_cast<std::size_t>(entity)]);
                 at < static_cast<std::size_t>(side.content.indptr[static_cast<std::size_t>(entity) + 1]); ++at) {
                raw[static_cast<std::size_t>(side.content.indices[at])] = side.values[at];
                for (int j = 0; j < side.width(); ++j)
                    vector[static_cast<std::size_t>(j)] += double(side.values[at]) * side.row(side.content.indices[at])[j];
            }
            return std::pair{vector, raw};
        };
        const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
            double sum = 0;
            for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
            return sum;
        };
        const auto [phi, x] = compose(problem.contexts, 0);
        std::vector<double> scores;
        for (std::int64_t i = 0; i < 40; ++i) {
            const auto [psi, y] = compose(problem.items, i);
            scores.push_back(product(phi, psi) + alpha * product(x, y));
        }
        std::int64_t rank = 0;
        for (std::size_t i = 0; i < 40; ++i) rank += i != 2 && i != 5 && scores[i] > scores[2] - 1;
        const Progress done = problem.run(LossData::owpc(40), settings_of(1, 1, true), 1, 1, 0.01F);
        expect(done.trials == rank && rank > 0, "a rank by product and overlap, alpha " + std::to_string(alpha));
    }
}

// With K as many as the positives, a fixed position always trains the same one of them.
void test_kos_trains_the_one_in_its_position() {
    for (int position = 1; position <= 4; ++position) {
        Problem problem = one_step_problem(60, 41);
        problem.events = Lists(Rows{{1, 3, 8, 9}});
        problem.known = problem.events;
        const auto rows = problem.items.copy();
        const auto scores = scores_of(problem);
        std::vector<std::int32_t> order{1, 3, 8, 9};
        std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
            return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
        });
        const LossData loss = LossData::kos(LossData::owpc(60), 4, position);
        const Progress done = problem.run(loss, settings_of(1, 1, false), 2, 1, 1e-5F);
        expect(done.steps == 4, "as many steps as positives");
        for (int at = 1; at <= 4; ++at) {
            const std::int32_t item = order[static_cast<std::size_t>(at - 1)];
            expect(problem.items.same_row(rows, item) == (at != position), "K-OS at position " + std::to_string(position));
        }
    }
}

void test_where_there_is_nothing_to_draw() {
    for (const Kind kind : kKinds) {
        for (const std::int64_t items : {1, 8}) {
            for (const Named& loss : all_losses(items + 1)) {
                // Of several items, the only two contexts know all; or all but one that nobody may draw.
                for (const bool drawable : {true, false}) {
                    Shape shape;
                    shape.contexts = 0;
                    shape.items = items;
                    Problem problem = make_problem(kind, shape, 3);
                    std::vector<std::int32_t> all;
                    for (std::int32_t i = 0; i < items; ++i) all.push_back(i);
                    if (!drawable && items > 1) {
                        all.pop_back();
                        problem.drawable = all;
                    }
                    problem.events = problem.known = Lists(Rows{all, all, {}, {}});
                    problem.weights.clear();
                    const auto before = problem.items.copy(), contexts = problem.contexts.copy();
                    for (const int threads : {1, 3}) {
                        const Progress done = problem.run(loss.loss, settings_of(threads, 1, problem.content_of_items()), 3, 2, 0.4F);
                        expect(done.violations == 0 && done.trials == 0, "no trial without a negative");
                    }
                    expect(problem.items.copy() == before && problem.contexts.copy() == contexts, "and nothing moves");
                }
            }
        }
    }
}

void test_warp_gives_up_after_its_trials() {
    for (const std::int32_t most : {1, 2, 3, 7, 49}) {
        for (const std::int32_t violators : {1, 2}) {
            Problem problem = one_step_problem(50, 11);
            for (int j = 0; j < problem.items.dim; ++j) problem.items.row(2)[j] = 100 * problem.contexts.row(0)[j];
            const auto before = problem.items.copy();
            const Progress done = problem.run(LossData::warp(50, most, violators), settings_of(1, 1, false), 5, 1, 0.4F);
            expect(done.trials == most && done.violations == 0, "as many trials as allowed, " + std::to_string(most));
            expect(problem.items.copy() == before, "nothing moves");
        }
    }
}

// What the asking throws reaches the caller, from one thread or several.
void test_an_interruption_reaches_the_caller() {
    Shape shape;
    shape.contexts = 400;
    shape.items = 3000;
    shape.dim = 64;
    for (const int threads : {1, 3}) {
        Problem problem = make_problem(Kind::id_id, shape, 2);
        const LossData loss = LossData::owpc(shape.items);
        Engine engine = problem.engine(loss, settings_of(threads, 1, false));
        const auto poll = [] { throw std::invalid_argument("enough"); };
        expect_refused([&] { engine.run_epoch({1, 0, 0.1F, 0.1F}, poll); }, "enough");
        expect_sound_rows(problem.items, "after an interruption");
    }
}

// V and S side by side, lists that end early, every kind of side, one thread and several, by blocks and without: all
// rows that are read or written are there, and stay in their balls.
template <class Own, class Items>
void train_on_lists(Kind kind, int threads, int blocks, bool leave_out) {
    constexpr std::size_t kPlaces = 3;
    Shape shape;
    shape.items = 70;
    shape.bias = leave_out;
    Problem problem = make_problem(kind, shape, 7);
    SideData& items = problem.items;
    const auto count = static_cast<std::size_t>(items.count());
    const int width = items.width();
    AlignedRow both(2 * count * static_cast<std::size_t>(items.groups())), vectors;
    vectors.resize(static_cast<std::size_t>(problem.content_of_items() ? 2 * problem.n_items * items.groups() : 1));
    Rng rng(11, 0);
    for (std::size_t i = 0; i < count; ++i) {
        for (int j = 0; j < items.dim; ++j) {
            both.data()[2 * i * static_cast<std::size_t>(width) + static_cast<std::size_t>(j)] = 0.1F * rng.uniform();
            both.data()[(2 * i + 1) * static_cast<std::size_t>(width) + static_cast<std::size_t>(j)] = 0.1F * rng.uniform();
        }
    }
    std::vector<float> squares(count, 1.0F), radii(count, 0.4F);
    Side v = items.view(true);
    v.table.rows = both.data();
    v.table.stride = 2 * width;
    Side s = v;
    s.table.rows = both.data() + width;
    s.table.squares = squares.data();
    s.table.radii = radii.data();
    std::vector<std::int32_t> lists;
    for (std::int64_t i = 0; i < problem.log().events.rows() * static_cast<std::int64_t>(kPlaces); ++i)
        lists.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint32_t>(problem.n_items + 1))) - 1);
    const std::vector<float> weights = {1, 0.5F, 0.25F};
    const LossData loss = LossData::warp(problem.n_items, 20);
    const typename ListContext<Own, Items>::Source source{{problem.contexts.view(true)}, s, lists, weights, leave_out};
    Engine engine(problem.log(), loss.view(), source, v, problem.content_of_items() ? vectors.data() : nullptr, Overlap(),
                  settings_of(threads, blocks, problem.content_of_items()));
    Progress last;
    for (int e = 0; e < 4; ++e) last = engine.run_epoch({3, e, 0.3F, 0.2F}, nullptr);
    expect(last.steps > 0 && std::isfinite(last.loss), "an epoch on lists has a finite loss");
    for (std::size_t i = 0; i < count; ++i) {
        for (const auto* table : {&v.table, &s.table}) {
            const float* row = table->row(static_cast<std::int64_t>(i));
            float norm2 = 0;
            for (int j = 0; j < table->dim; ++j) norm2 += row[j] * row[j];
            const float radius = table->radii[i];
            expect(norm2 <= radius * radius * 1.0001F, "V and S stay in their balls");
            for (int j = items.dim + items.bias; j < width; ++j) expect(row[j] == 0, "padding stays zero");
        }
    }
    std::vector<std::int32_t> wrong(lists.begin(), lists.end() - 1);
    const typename ListContext<Own, Items>::Source short_one{{problem.contexts.view(true)}, s, wrong, weights, leave_out};
    expect_refused([&] { Engine(problem.log(), loss.view(), short_one, v, nullptr, Overlap(), {}); }, "one a context");
}

void test_lists() {
    for (const bool leave_out : {false, true}) {
        for (const int threads : {1, 3}) {
            train_on_lists<IdContext, PairItems>(Kind::id_id, threads, 1, leave_out);
            train_on_lists<IdContext, PairItems>(Kind::id_id, threads, threads, leave_out);
            train_on_lists<ContentContext, PairItems>(Kind::content_id, threads, 1, leave_out);
            train_on_lists<IdContext, PairContentItems>(Kind::id_content, threads, 1, leave_out);
            train_on_lists<ContentContext, PairContentItems>(Kind::content_content, threads, 1, leave_out);
        }
    }
}

}  // namespace

int main() {
    test_warp_weighs_by_its_trials();
    test_owpc_counts_exactly();
    test_overlap_counts_in_ranks();
    test_kos_trains_the_one_in_its_position();
    test_warp_gives_up_after_its_trials();
    test_where_there_is_nothing_to_draw();
    test_what_always_holds();
    test_the_same_seed_gives_the_same_rows();
    test_frozen_and_untouched_rows_stay();
    test_the_loss_falls();
    test_an_interruption_reaches_the_caller();
    test_lists();
    return summary("training");
}
