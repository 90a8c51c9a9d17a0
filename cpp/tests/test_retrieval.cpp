// Top-k and ranks against naive loops on many random shapes. Ends with 1 when anything differs.
//
// Coordinates are small whole numbers, so that every sum is exact in any order and ties are common; a second
// round with normal ones asks for what must hold whatever the rounding.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "parallel.hpp"
#include "rank.hpp"
#include "support.hpp"
#include "topk.hpp"

namespace {

using namespace topwise;
// A matrix that owns its floats.
struct Floats {
    std::int64_t rows, cols;
    std::vector<float> data;

    Matrix view() const { return {data.data(), rows, cols}; }
    double dot(std::int64_t i, const Floats& other, std::int64_t j) const {
        double sum = 0;
        for (std::int64_t c = 0; c < cols; ++c) sum += double(view().row(i)[c]) * other.view().row(j)[c];
        return sum;
    }
};

struct Random {
    std::mt19937_64 engine;

    std::int64_t up_to(std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(0, most)(engine);
    }
    Floats whole_numbers(std::int64_t rows, std::int64_t cols) {
        Floats result{rows, cols, std::vector<float>(rows * cols)};
        for (float& value : result.data) value = static_cast<float>(up_to(4) - 2);
        return result;
    }
    Floats normal(std::int64_t rows, std::int64_t cols, double spread) {
        std::normal_distribution<double> draw;
        Floats result{rows, cols, {}};
        for (std::int64_t i = 0; i < rows; ++i) {
            const double scale = std::exp(spread * draw(engine));
            for (std::int64_t j = 0; j < cols; ++j)
                result.data.push_back(static_cast<float>(scale * draw(engine)));
        }
        return result;
    }
    std::vector<std::int32_t> subset(std::int64_t of, std::int64_t most) {
        std::set<std::int32_t> chosen;
        if (of > 0) {
            for (std::int64_t left = up_to(most); left > 0; --left)
                chosen.insert(static_cast<std::int32_t>(up_to(of - 1)));
        }
        return {chosen.begin(), chosen.end()};
    }
    Rows subsets(std::int64_t rows, std::int64_t of, std::int64_t most) {
        Rows result;
        for (std::int64_t i = 0; i < rows; ++i) result.push_back(subset(of, most));
        return result;
    }
};

bool contains(const std::vector<std::int32_t>& sorted, std::int32_t item) {
    return std::binary_search(sorted.begin(), sorted.end(), item);
}

TopK naive_search(const Floats& items, const Floats& queries, std::int64_t k, const Rows& exclude,
                  const std::vector<std::int32_t>* candidates) {
    TopK result;
    for (std::int64_t i = 0; i < queries.rows; ++i) {
        std::vector<std::pair<double, std::int32_t>> order;
        for (std::int32_t item = 0; item < items.rows; ++item) {
            if (contains(exclude[i], item) || (candidates && !contains(*candidates, item))) continue;
            order.emplace_back(-queries.dot(i, items, item), item);
        }
        std::sort(order.begin(), order.end());
        for (std::int64_t at = 0; at < k; ++at) {
            const bool there = at < std::ssize(order);
            result.items.push_back(there ? order[at].second : -1);
            result.scores.push_back(there ? float(-order[at].first)
                                          : -std::numeric_limits<float>::infinity());
        }
    }
    return result;
}

void test_search_against_sorting(Random& random) {
    for (int round = 0; round < 400; ++round) {
        const std::int64_t items_count = round % 10 == 0 ? random.up_to(2000) : random.up_to(90);
        const std::int64_t queries_count = random.up_to(30), dim = 1 + random.up_to(round % 7 == 0 ? 70 : 9);
        const Floats items = random.whole_numbers(items_count, dim);
        const Floats queries = random.whole_numbers(queries_count, dim);
        const std::int64_t k = 1 + random.up_to(round % 3 == 0 ? items_count + 5 : 12);
        const Rows exclude = random.subsets(queries_count, items_count, random.up_to(1) * 20);
        const std::vector<std::int32_t> candidates = random.subset(items_count, random.up_to(items_count));
        std::vector<std::int32_t> shuffled = candidates;
        shuffled.insert(shuffled.end(), candidates.begin(), candidates.end());
        std::shuffle(shuffled.begin(), shuffled.end(), random.engine);

        const ItemIndex index(items.view());
        const Lists excluded(exclude);
        const int threads = 1 + static_cast<int>(random.up_to(3));
        const std::string shape = std::to_string(queries_count) + " queries, " + std::to_string(items_count) +
                                  " items, dim " + std::to_string(dim) + ", k " + std::to_string(k);
        const TopK all = index.search(queries.view(), k, excluded.view(), std::nullopt, threads);
        const TopK expected = naive_search(items, queries, k, exclude, nullptr);
        expect(all.items == expected.items && all.scores == expected.scores, "search of " + shape);

        const TopK some = index.search(queries.view(), k, excluded.view(), shuffled, threads);
        const TopK expected_some = naive_search(items, queries, k, exclude, &candidates);
        expect(some.items == expected_some.items && some.scores == expected_some.scores,
               "search among " + std::to_string(candidates.size()) + " candidates of " + shape);
    }
}

// With every score known by a search for all items, a short search must be the head of the long one, to the
// bit, alone or in a batch; and ranks must be what these scores say.
void test_consistency_of_rounded_scores(Random& random) {
    for (int round = 0; round < 60; ++round) {
        const std::int64_t items_count = 1 + random.up_to(1500), queries_count = 1 + random.up_to(40);
        const std::int64_t dim = 1 + random.up_to(80), k = 1 + random.up_to(20);
        const Floats items = random.normal(items_count, dim, 0.5 * double(round % 4));
        const Floats queries = random.normal(queries_count, dim, 0.5);
        const Lists nothing{Rows(queries_count)}, nothing_once{Rows(1)};
        const ItemIndex index(items.view());
        const TopK all = index.search(queries.view(), items_count, nothing.view(), std::nullopt, 1);
        const TopK best = index.search(queries.view(), k, nothing.view(), std::nullopt, 2);
        for (std::int64_t i = 0; i < queries_count; ++i) {
            const TopK alone =
                index.search({queries.view().row(i), 1, dim}, k, nothing_once.view(), std::nullopt, 1);
            for (std::int64_t at = 0; at < k; ++at) {
                const bool there = at < items_count;
                const std::int32_t item = there ? all.items[i * items_count + at] : -1;
                expect(best.items[i * k + at] == item && alone.items[at] == item,
                       "the head of a full search");
                if (!there) continue;
                const float score = all.scores[i * items_count + at];
                expect(best.scores[i * k + at] == score && alone.scores[at] == score, "one score for a pair");
                const double exact = queries.dot(i, items, item);
                expect(std::abs(score - exact) <= 1e-4 * (1 + std::abs(exact)),
                       "a score near the exact product");
            }
        }
        const Rows target_rows = random.subsets(queries_count, items_count, round % 2 ? 20 : 300);
        const Lists targets(target_rows);
        const Ranks ranks = rank_items(queries.view(), items.view(), targets.view(), nothing.view(), 2);
        for (std::int64_t i = 0; i < queries_count; ++i) {
            std::map<std::int32_t, float> score;
            for (std::int64_t at = 0; at < items_count; ++at) {
                score[all.items[i * items_count + at]] = all.scores[i * items_count + at];
            }
            for (std::int64_t at = targets.indptr[i]; at < targets.indptr[i + 1]; ++at) {
                std::int32_t greater = 0, equal = 0;
                for (const auto& [item, value] : score) {
                    if (contains(target_rows[i], item)) continue;
                    greater += value > score[targets.indices[at]];
                    equal += value == score[targets.indices[at]];
                }
                expect(ranks.greater[at] == greater && ranks.equal[at] == equal,
                       "ranks by the scores of search");
            }
        }
    }
}

// Where the bound is tight: rows that differ from the query's own direction by a rounding or two, so that
// scores rise above the products of the norms; and shorter rows, further down, that beat longer ones a little
// off course.
void test_bound_at_its_tightest(Random& random) {
    for (int round = 0; round < 20; ++round) {
        const std::int64_t count = 3000, dim = 2 + random.up_to(60);
        const Floats query = random.normal(1, dim, 0);
        Floats items{count, dim, {}};
        for (std::int64_t i = 0; i < count; ++i) {
            const float scale = round % 2 == 0 ? 1 : (i < count / 2 ? 1 : 0.995f);
            for (std::int64_t j = 0; j < dim; ++j) {
                const auto noise =
                    static_cast<float>(random.up_to(2) - 1) * std::numeric_limits<float>::epsilon();
                items.data.push_back(scale * query.data[j] * (1 + noise));
            }
            if (scale == 1 && round % 2 == 1) items.data[i * dim] *= 0.8f;
        }
        const Lists nothing{Rows(1)};
        const ItemIndex index(items.view());
        const TopK all = index.search(query.view(), count, nothing.view(), std::nullopt, 1);
        const TopK best = index.search(query.view(), 10, nothing.view(), std::nullopt, 1);
        expect(std::equal(best.items.begin(), best.items.end(), all.items.begin()),
               "a tight bound loses nothing");
    }
}

void test_ranks_against_counting(Random& random) {
    for (int round = 0; round < 200; ++round) {
        const std::int64_t items_count = round % 10 == 0 ? random.up_to(2500) : random.up_to(120);
        const std::int64_t rows = random.up_to(round % 10 == 0 ? 60 : 15), dim = 1 + random.up_to(6);
        const Floats items = random.whole_numbers(items_count, dim),
                     contexts = random.whole_numbers(rows, dim);
        const Rows targets = random.subsets(rows, items_count, round % 4 == 0 ? 400 : 8);
        const Rows exclude = random.subsets(rows, items_count, random.up_to(1) * 40);
        const Lists wanted(targets), excluded(exclude);
        const Ranks ranks = rank_items(contexts.view(), items.view(), wanted.view(), excluded.view(),
                                       1 + static_cast<int>(random.up_to(3)));
        std::size_t at = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
            for (const std::int32_t target : targets[i]) {
                std::int32_t greater = 0, equal = 0;
                for (std::int32_t item = 0; item < items_count; ++item) {
                    if (contains(targets[i], item) || contains(exclude[i], item)) continue;
                    greater += contexts.dot(i, items, item) > contexts.dot(i, items, target);
                    equal += contexts.dot(i, items, item) == contexts.dot(i, items, target);
                }
                expect(ranks.greater[at] == greater && ranks.equal[at] == equal, "ranks by counting");
                ++at;
            }
        }
        expect(ranks.greater.size() == at && ranks.equal.size() == at, "one rank for each target");
    }
}

// Whatever the registers of this machine, both ways to cut a tile must cover its rows, once, inside the tile.
void test_pieces_cover_a_tile() {
    for (const int widest : {6, 12}) {
        for (int rows = 0; rows <= kTileRows; ++rows) {
            std::vector<int> seen(kTileRows);
            for_each_piece(rows, widest, [&]<int Rows>(int first) {
                expect(first + Rows <= kTileRows && Rows <= widest, "a piece inside its tile");
                for (int r = first; r < first + Rows; ++r) ++seen[r];
            });
            for (int r = 0; r < kTileRows; ++r) {
                expect(r < rows ? seen[r] == 1 : seen[r] <= 1, "each row of a tile in one piece");
            }
        }
    }
}

void test_extremes_of_magnitude() {
    const Lists nothing{Rows(1)};
    // Products of these underflow or vanish: bounds must not cut off what still ties or counts.
    const Floats tiny{4, 2, {1e-30f, 0, 0, 1e-30f, 1e-22f, 1e-22f, 0, 0}}, query{1, 2, {1e-23f, 1e-23f}};
    const TopK best = ItemIndex(tiny.view()).search(query.view(), 2, nothing.view(), std::nullopt, 1);
    expect(best.items == std::vector<std::int32_t>({2, 0}), "products below the smallest float");
    const Floats huge{1, 2, {1e30f, 1e30f}};
    expect_refused([&] { ItemIndex(huge.view()).search(huge.view(), 1, nothing.view(), std::nullopt, 1); },
                   "scale");
}

void test_bad_input_is_refused() {
    const Floats items{3, 2, {1, 2, 3, 4, 5, 6}}, contexts{1, 2, {1, 1}}, wide{1, 3, {1, 1, 1}};
    Floats broken = items;
    broken.data[3] = std::numeric_limits<float>::quiet_NaN();
    const Lists nothing{Rows(1)}, two_rows{Rows(2)}, unsorted{Rows{{1, 0}}}, outside{Rows{{3}}};
    const ItemIndex index(items.view());
    const auto search = [&](const Floats& queries, std::int64_t k, const Lists& exclude, int threads) {
        index.search(queries.view(), k, exclude.view(), std::nullopt, threads);
    };
    expect_refused([&] { ItemIndex(broken.view()); }, "items must be finite, got nan at row 1, column 1");
    expect_refused([&] { ItemIndex(Matrix{nullptr, 3, 0}); }, "dim must be at least 1, got 0");
    expect_refused([&] { search({1, 2, {1, INFINITY}}, 1, nothing, 1); }, "contexts must be finite, got inf");
    expect_refused([&] { search(wide, 1, nothing, 1); }, "as many columns as items (2), got 3");
    expect_refused([&] { search(contexts, 0, nothing, 1); }, "k must be in 1..2147483647, got 0");
    expect_refused([&] { search(contexts, 1, nothing, 0); }, "threads must be at least 1, got 0");
    expect_refused([&] { search(contexts, 1, two_rows, 1); }, "one entry more than contexts (2), got 3");
    expect_refused([&] { search(contexts, 1, unsorted, 1); }, "got 0 after 1");
    expect_refused([&] { search(contexts, 1, outside, 1); }, "in 0..2, got 3");
    const std::vector<std::int32_t> candidates{0, -1};
    expect_refused([&] { index.search(contexts.view(), 1, nothing.view(), candidates, 1); }, "got -1");
    expect_refused([&] { rank_items(contexts.view(), items.view(), outside.view(), nothing.view(), 1); },
                   "targets");
}

void test_parallel_for() {
    for (const int threads : {1, 2, 5}) {
        std::vector<std::atomic<int>> seen(103);
        parallel_for(std::ssize(seen), 10, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
            expect(worker >= 0 && worker < threads, "a worker's number");
            for (std::int64_t i = begin; i < end; ++i) ++seen[i];
        });
        expect(std::all_of(seen.begin(), seen.end(), [](const auto& times) { return times == 1; }),
               "each once");

        std::atomic<int> calls{0};
        const auto failing = [&](std::int64_t begin, std::int64_t, int) {
            ++calls;
            if (begin == 3) throw std::invalid_argument("from a worker");
        };
        expect_refused([&] { parallel_for(100000, 1, threads, failing); }, "from a worker");
        expect(calls < 100000, "a failure stops the loop");

        std::atomic<bool> stop{false};
        std::atomic<int> done{0};
        const auto stopping = [&](std::int64_t, std::int64_t, int) { stop = ++done >= 5; };
        parallel_for(100000, 1, threads, stopping, &stop);
        expect(done >= 5 && done < 100000, "the flag stops the loop");
    }
    for (std::int64_t count = 0; count < 200; ++count) {
        for (const int threads : {1, 2, 3}) {
            const std::int64_t chunk = even_chunk(count, 24, 12, threads);
            expect(chunk % 12 == 0 && chunk >= 12 && chunk <= 24, "a chunk of whole tiles");
        }
    }
}

}  // namespace

int main() {
    Random random{std::mt19937_64(7)};
    test_parallel_for();
    test_pieces_cover_a_tile();
    test_bad_input_is_refused();
    test_extremes_of_magnitude();
    test_search_against_sorting(random);
    test_bound_at_its_tightest(random);
    test_ranks_against_counting(random);
    test_consistency_of_rounded_scores(random);
    return summary("retrieval");
}
