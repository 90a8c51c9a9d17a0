// A maximum that is smoothed by weighing values by their order.
#pragma once

#include <vector>

namespace topwise {

// w_1 ... w_count of sum 1, each `ratio` times the one before. With ratio 0 they are the hard maximum, with 1 the mean.
inline std::vector<float> order_weights(int count, float ratio) {
    std::vector<float> weights;
    double total = 0, next = 1;
    for (int i = 0; i < count; ++i, next *= ratio) {
        weights.push_back(static_cast<float>(next));
        total += next;
    }
    for (float& weight : weights) weight = static_cast<float>(weight / total);
    return weights;
}

}  // namespace topwise
