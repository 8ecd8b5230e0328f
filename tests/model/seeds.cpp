#include "seeds.hpp"

namespace model {

const Scenario& scenario_of(std::uint64_t seed) { return scenarios()[seed % scenarios().size()]; }

std::unique_ptr<World> world_of(std::uint64_t seed) {
    Fault fault;
    fault.reconcilers = seed / scenarios().size() % 4 == 0 ? 2 : 1;
    fault.elected = seed / scenarios().size() % 32 == 0;
    if (seed / scenarios().size() % 3 == 0) fault.clock_skew = 24h;
    return std::make_unique<World>(fault, Chance{.seed = seed, .random = true});
}

}  // namespace model
