#pragma once
#include <functional>
#include <string>
#include <vector>

#include "growth.hpp"

/// The schemas of the two specs, and of the parts of live objects that are read.
struct Schemas {
    api::Json job = {};
    api::Json runtime = {};
    std::vector<api::Json> live = {};  ///< with `kind` and `apiVersion` of the object beside `properties`
};
Schemas read_schemas();
/// Returns the frameworks in the schema of a runtime.
std::vector<std::string> frameworks(const Schemas& schemas);

/// The long lists and maps, and their surroundings.
struct Subject {
    std::set<std::string> members = {};
    Order order = Order::same;
    std::string framework = {};  ///< a member of mlPolicy
    std::string gang = {};       ///< a member of podGroupPolicy; empty: none
    std::string role = {};       ///< the ancestor step that all jobs of the runtime have; empty: one trains
    bool long_names = false;     ///< a job and a container have names that grow with the lists
};

/// One step of webhook or reconciler on one TrainJob and its runtime.
struct Step {
    std::string name = {};
    double seconds = 0;  ///< of CPU of this thread
    bool passed = true;  ///< admitted, built
};
/// Returns the steps with `size` items in each growing list and map; only steps with the given names, or all.
std::vector<Step> work_through(const Schemas& schemas, const Subject& subject, std::size_t size,
                               const std::set<std::string>& only = {});
/// Returns the CPU time of this thread.
double cpu_seconds();
/// Returns the number of long lists and maps.
std::size_t places(const Schemas& schemas, const Subject& subject);
