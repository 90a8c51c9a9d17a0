// Small problems for the training loop: logs, sides and losses that own what the engine borrows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine.hpp"
#include "support.hpp"

namespace topwise {

// A side's rows and content. Rows of content come first, then those of ids.
struct SideData {
    std::int64_t entities = 0, features = 0, frozen = 0, each = 1;  // rows of their own
    int dim = 0;
    bool ids = true, bias = false;
    float radius = 1;
    Lists content;
    std::vector<float> values;
    AlignedRow rows;
    std::vector<float> squares, radii;

    std::int64_t count() const { return features + (ids ? entities * each : 0); }
    int groups() const { return (dim + bias + kLanes - 1) / kLanes; }
    int width() const { return groups() * kLanes; }
    bool has_content() const { return !values.empty(); }
    float* row(std::int64_t i) { return rows.data() + i * width(); }

    // Small random rows; a context by its id alone has the 1 for the item's bias in its own row.
    void fill(Rng& rng, float scale, bool is_context) {
        rows.resize(static_cast<std::size_t>(count() * groups()));
        for (std::int64_t i = 0; i < count(); ++i) {
            for (int j = 0; j < dim; ++j) row(i)[j] = scale * (2 * rng.uniform() - 1);
            if (bias && is_context && !has_content()) row(i)[dim] = 1;
        }
        squares.assign(static_cast<std::size_t>(count()), 1.0F);
        radii.assign(static_cast<std::size_t>(count()), radius);
    }
    Side view(bool adagrad) {
        Side side;
        side.table = {rows.data(), adagrad ? squares.data() : nullptr, count(), frozen, groups(), dim, radii.data()};
        side.ids = ids;
        side.first = features;
        side.bias = bias;
        if (has_content()) side.content = {content.view(), values};
        return side;
    }
    std::vector<float> copy() const { return {rows.data(), rows.data() + rows.size()}; }
    bool same_row(const std::vector<float>& before, std::int64_t i) {
        return std::memcmp(row(i), before.data() + i * width(), sizeof(float) * static_cast<std::size_t>(width())) == 0;
    }
};

struct LossData {
    Loss loss;
    std::vector<float> weights, trial_weights, positions;

    // L(r) = 1 + 1/2 + ... + 1/r, or 1 for every rank.
    LossData(std::int64_t items, std::int32_t max_trials, bool harmonic = true) {
        weights.push_back(0);
        for (std::int64_t r = 1; r <= items; ++r)
            weights.push_back(harmonic ? weights.back() + 1.0F / static_cast<float>(r) : 1.0F);
        loss.max_trials = max_trials;
        loss.others = harmonic ? std::max<std::int64_t>(items - 1, 1) : 1;
    }
    Loss view() const {
        Loss copy = loss;
        copy.weights = weights;
        copy.trial_weights = trial_weights;
        copy.positions = positions;
        return copy;
    }

    static LossData auc() { return {1, 1, false}; }
    static LossData warp(std::int64_t items, std::int32_t max_trials, std::int32_t violators = 1, bool corrected = false) {
        LossData made(items, max_trials);
        made.loss.violators = violators;
        made.loss.corrected = corrected;
        if (corrected) {
            for (std::int32_t n = 0; n <= max_trials; ++n)
                made.trial_weights.push_back(3.0F / static_cast<float>(n + 1));
        }
        return made;
    }
    static LossData owpc(std::int64_t items, std::int32_t refresh = 1, std::int32_t violators = 1) {
        LossData made(items, refresh);
        made.loss.exact = true;
        made.loss.violators = violators;
        return made;
    }
    // All K positives in one position of K.
    static LossData kos(LossData base, int k, int position) {
        for (int i = 1; i <= k; ++i) base.positions.push_back(i >= position ? 1.0F : 0.0F);
        return base;
    }
};

enum class Kind { id_id, id_content, content_id, content_content, history, tastes_id, tastes_content, smoothed };
inline constexpr Kind kKinds[] = {Kind::id_id, Kind::id_content, Kind::content_id, Kind::content_content, Kind::history,
                                Kind::tastes_id, Kind::tastes_content, Kind::smoothed};
inline const char* name(Kind kind) {
    static const char* names[] = {"ids x ids", "ids x content", "content x ids", "content x content", "history x ids",
                                  "tastes x ids", "tastes x content", "smoothed tastes x content"};
    return names[static_cast<int>(kind)];
}

struct Problem {
    Kind kind = Kind::id_id;
    std::int64_t n_items = 0;
    Lists events, known;
    std::vector<float> weights;
    std::vector<std::int32_t> drawable;
    SideData contexts, items;
    AlignedRow vectors;
    std::vector<std::int64_t> ends;
    float alpha = 0;
    bool adagrad = true;

    Log log() const { return {events.view(), weights, known.view(), drawable, n_items, {}, {}}; }
    bool content_of_contexts() const {
        return kind == Kind::content_id || kind == Kind::content_content || kind == Kind::smoothed;
    }
    bool content_of_items() const {
        return kind == Kind::id_content || kind == Kind::content_content || kind == Kind::tastes_content ||
               kind == Kind::smoothed;
    }
    bool of_tastes() const {
        return kind == Kind::tastes_id || kind == Kind::tastes_content || kind == Kind::smoothed;
    }

    Engine engine(LossData&&, Settings) = delete;  // it would outlive the loss
    Engine engine(const LossData& loss, Settings settings) {
        vectors.resize(static_cast<std::size_t>(content_of_items() ? n_items * items.groups() : 0));
        Overlap overlap;
        if (alpha != 0)
            overlap = Overlap(alpha, contexts.content.view(), contexts.values, items.content.view(), items.values,
                              items.features);
        Contexts source = HistoryContext::Source{};
        if (of_tastes()) {
            ends.clear();
            for (std::int64_t c = 0; c <= contexts.entities; ++c) ends.push_back(c * contexts.each);
            source = TasteContext::Source{contexts.view(adagrad), ends, kind == Kind::smoothed ? 0.5F : 0.0F};
        } else if (content_of_contexts()) source = ContentContext::Source{contexts.view(adagrad)};
        else if (kind != Kind::history) source = IdContext::Source{contexts.view(adagrad)};
        return {log(), loss.view(), source, items.view(adagrad), content_of_items() ? vectors.data() : nullptr, overlap,
                settings};
    }
    Progress run(const LossData& loss, Settings settings, std::uint64_t seed, int epochs, float rate) {
        Engine made = engine(loss, settings);
        Progress last;
        for (int e = 0; e < epochs; ++e) last = made.run_epoch({seed, e, rate, rate / 2}, nullptr);
        return last;
    }
};

struct Shape {
    std::int64_t contexts = 30, items = 40;
    int dim = 5, tastes = 2;
    bool bias = false, adagrad = true, own_rows = true;
    float scale = 0.1F, radius = 1;
};

inline Settings settings_of(int threads, int blocks, bool content) {
    Settings settings;
    settings.threads = threads;
    settings.blocks = blocks;
    settings.rounds = content ? 8 * blocks : blocks;
    settings.visit = 4;
    return settings;
}

// Rows and content for a log: entity e has the features e mod `tastes` and one of its own kind.
inline void make_sides(Problem& problem, const Shape& shape, Rng& rng) {
    const auto make = [&](SideData& side, std::int64_t entities, bool content, bool is_context) {
        side.entities = entities;
        if (is_context && problem.of_tastes()) side.each = 5;
        side.dim = shape.dim;
        side.bias = shape.bias;
        side.radius = shape.radius;
        side.ids = !content || shape.own_rows || side.each > 1;
        if (content) {
            side.features = shape.tastes + 3;
            Rows lists;
            for (std::int64_t e = 0; e < entities; ++e) {
                lists.push_back({static_cast<std::int32_t>(e % shape.tastes),
                                 static_cast<std::int32_t>(shape.tastes + e / shape.tastes % 3)});
                side.values.insert(side.values.end(), {1.0F, 0.5F});
            }
            side.content = Lists(lists);
        }
        side.fill(rng, shape.scale, is_context);
    };
    problem.adagrad = shape.adagrad;
    make(problem.contexts, problem.events.view().rows(), problem.content_of_contexts(), true);
    make(problem.items, problem.n_items, problem.content_of_items(), false);
}

// Context u takes items i with u = i mod `tastes`, most of them. The last four contexts: one knows every item, one has
// a single event, one has none, and one has the same event three times.
inline Problem make_problem(Kind kind, const Shape& shape, std::uint64_t seed) {
    Rng rng(seed);
    Problem problem;
    problem.kind = kind;
    problem.n_items = shape.items;
    Rows events, known;
    for (std::int64_t u = 0; u < shape.contexts; ++u) {
        std::vector<std::int32_t> row;
        for (auto i = static_cast<std::int32_t>(u % shape.tastes); i < shape.items; i += shape.tastes)
            if (rng.below(4) != 0) row.push_back(i);
        events.push_back(row);
        known.push_back(row);
    }
    std::vector<std::int32_t> all;
    for (std::int32_t i = 0; i < shape.items; ++i) all.push_back(i);
    for (const auto& [taken, liked] : {std::pair{all, all}, {{0}, {0}}, {{}, {}}, {{1, 1, 1}, {1, 3}}}) {
        events.push_back(taken);
        known.push_back(liked);
    }
    problem.events = Lists(events);
    problem.known = Lists(known);
    for (std::size_t e = 0; e < problem.events.indices.size(); ++e) problem.weights.push_back(0.5F + rng.uniform());
    make_sides(problem, shape, rng);
    return problem;
}

}  // namespace topwise
