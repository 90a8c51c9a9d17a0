// Contexts that are pairs, in every form and with every loss: what always holds, under sanitizers.
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "training_problem.hpp"

using namespace topwise;

namespace {

constexpr std::int64_t kUsers = 7, kQueries = 9, kItems = 40;

struct PairProblem {
    Interaction form = Interaction::kNone;
    int rank = 0;
    Lists events, known;
    std::vector<std::int32_t> user_of, query_of;
    SideData users, queries, items;
    AlignedRow blocks, vectors;
    std::vector<float> squares, radii;

    PairContext::Source source() {
        PairContext::Source made{users.view(true), queries.view(true), form, rank, {}};
        const int width = made.lines() * users.width();
        if (width > 0) {
            made.blocks = {blocks.data(), squares.data(), kUsers, users.frozen, width / kLanes, width, radii.data()};
        }
        return made;
    }
    Engine engine(const LossData& loss, Settings settings) {
        const bool content = items.has_content();
        vectors.resize(static_cast<std::size_t>(content ? kItems * items.groups() : 0));
        const Log log{events.view(), {}, known.view(), {}, kItems, user_of, query_of};
        return {log, loss.view(), source(), items.view(true), content ? vectors.data() : nullptr, Overlap(), settings};
    }
    Progress run(const LossData& loss, Settings settings, int epochs) {
        Engine made = engine(loss, settings);
        Progress last;
        for (int e = 0; e < epochs; ++e) last = made.run_epoch({3, e, 0.4F, 0.2F}, nullptr);
        return last;
    }
    std::vector<float> all() const {
        std::vector<float> values(blocks.data(), blocks.data() + blocks.size());
        for (const SideData* side : {&users, &queries, &items}) {
            const std::vector<float> rows = side->copy();
            values.insert(values.end(), rows.begin(), rows.end());
        }
        return values;
    }
};

// Of a pair: no events, one, some, or more than a visit takes; the items are those with (q + u) mod 3, mostly.
PairProblem make_pairs(Interaction form, int dim, bool content, bool bias) {
    Rng rng(11);
    PairProblem problem;
    problem.form = form;
    problem.rank = form == Interaction::kLowRank ? 2 : 0;
    Rows events, known;
    for (std::int32_t u = 0; u < kUsers; ++u) {
        for (std::int32_t q = 0; q < kQueries; ++q) {
            if (rng.below(3) == 0) continue;
            std::vector<std::int32_t> row;
            const std::uint32_t wanted = u == 3 ? 12 : rng.below(4);
            for (std::int32_t i = (u + q) % 3; i < kItems && row.size() < wanted; i += 3) row.push_back(i);
            events.push_back(row);
            known.push_back(row);
            problem.user_of.push_back(u);
            problem.query_of.push_back(q);
        }
    }
    problem.events = Lists(events);
    problem.known = Lists(known);
    const auto make = [&](SideData& side, std::int64_t entities, bool is_context) {
        side.entities = entities;
        side.dim = dim;
        side.bias = bias && !is_context;
        if (content) {
            side.features = 3;
            Rows lists;
            for (std::int64_t e = 0; e < entities; ++e) {
                lists.push_back({static_cast<std::int32_t>(e % 3)});
                side.values.push_back(0.5F);
            }
            side.content = Lists(lists);
        }
        side.bias = bias;
        side.fill(rng, 0.1F, false);
    };
    make(problem.users, kUsers, true);
    make(problem.queries, kQueries, true);
    make(problem.items, kItems, false);
    const auto groups = static_cast<std::size_t>(problem.source().lines() * problem.users.groups());
    problem.blocks.resize(kUsers * groups);
    problem.squares.assign(kUsers, 1.0F);
    problem.radii.assign(kUsers, 0.5F);
    if (form == Interaction::kLowRank) {
        const std::int64_t width = problem.users.width();
        for (std::int64_t line = 0; line < kUsers * 3; ++line)
            for (int j = 0; line % 3 != 0 && j < dim; ++j) problem.blocks.data()[line * width + j] = 0.05F * rng.uniform();
    }
    return problem;
}

void expect_sound_blocks(PairProblem& problem, const std::string& what) {
    const std::int64_t width = problem.users.width();
    const std::int64_t lines = problem.source().lines();
    for (std::int64_t u = 0; u < kUsers; ++u) {
        double norm2 = 0;
        bool sound = true;
        for (std::int64_t i = 0; i < lines * width; ++i) {
            const float value = problem.blocks.data()[u * lines * width + i];
            sound &= std::isfinite(value) && (i % width < problem.users.dim || value == 0);
            norm2 += double(value) * value;
        }
        expect(sound, what + ": finite interactions and padding of zeros");
        expect(std::sqrt(norm2) <= 0.5001, what + ": an interaction in its ball");
    }
}

void test_what_always_holds() {
    for (const Interaction form : {Interaction::kNone, Interaction::kDiagonal, Interaction::kLowRank, Interaction::kFull}) {
        for (const int dim : {5, 16, 50, 83}) {
            for (const bool content : {false, true}) {
                for (const int threads : {1, 3}) {
                    const LossData losses[] = {LossData::auc(), LossData::warp(kItems, 20), LossData::owpc(kItems),
                                               LossData::kos(LossData::warp(kItems, 20), 3, 2)};
                    for (const LossData& loss : losses) {
                        PairProblem problem = make_pairs(form, dim, content, dim == 16);
                        const std::string what = "form " + std::to_string(static_cast<int>(form)) + ", dim " +
                                                 std::to_string(dim) + ", " + std::to_string(threads) + " threads";
                        const std::vector<float> before = problem.all();
                        const Progress last = problem.run(loss, settings_of(threads, 1, content), 3);
                        expect(last.steps == std::ssize(problem.events.indices), what + ": every event once");
                        expect(problem.all() != before && std::isfinite(last.loss), what + ": rows move");
                        expect_sound_blocks(problem, what);
                        if (threads > 1) continue;
                        PairProblem again = make_pairs(form, dim, content, dim == 16);
                        again.run(loss, settings_of(1, 1, content), 3);
                        expect(again.all() == problem.all(), what + ": one seed, one result");
                    }
                }
            }
        }
    }
}

void test_frozen_users_stay() {
    PairProblem problem = make_pairs(Interaction::kFull, 5, false, false);
    problem.users.frozen = 4;
    const auto rows = problem.users.copy();
    const std::vector<float> blocks(problem.blocks.data(), problem.blocks.data() + problem.blocks.size());
    problem.run(LossData::auc(), settings_of(1, 1, false), 2);
    const std::size_t each = blocks.size() / kUsers;
    for (std::int64_t u = 0; u < kUsers; ++u) {
        bool same = problem.users.same_row(rows, u);
        for (std::size_t i = 0; i < each; ++i) {
            const std::size_t at = static_cast<std::size_t>(u) * each + i;
            same &= problem.blocks.data()[at] == blocks[at];
        }
        expect(same == (u < 4), "user " + std::to_string(u) + " stays as far as it is frozen");
    }
}

void test_what_is_refused() {
    PairProblem problem = make_pairs(Interaction::kDiagonal, 5, false, false);
    const LossData loss = LossData::auc();
    problem.user_of.back() = kUsers;
    expect_refused([&] { problem.engine(loss, settings_of(1, 1, false)); }, "users must have a row each");
    problem.user_of.back() = 0;
    problem.query_of.back() = -1;
    expect_refused([&] { problem.engine(loss, settings_of(1, 1, false)); }, "queries must have a row each");
    problem.query_of.pop_back();
    expect_refused([&] { problem.engine(loss, settings_of(1, 1, false)); }, "a user and a query each");
}

}  // namespace

int main() {
    test_what_always_holds();
    test_frozen_users_stay();
    test_what_is_refused();
    return summary("pairs");
}
