// Upper bounds of the histograms' buckets, shared by all that measure the same.
#pragma once

namespace paternoster::measure {

inline constexpr double kSecondBounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
                                    10,    20,   40,    80,   160, 320,  640, 1280, 2560};
// A small model's gaps are a few milliseconds on a CPU.
inline constexpr double kGapBounds[] = {0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06,
                                 0.08,  0.1,   0.15,  0.2,   0.3,   0.5,  0.75,  1,    2.5,  5,    10};
inline constexpr double kTokenBounds[] = {1,   2,    5,    10,   20,   50,    100,   200,
                                   500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};

}  // namespace paternoster::measure
