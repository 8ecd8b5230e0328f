#pragma once
#include <functional>
#include <string>
#include <vector>

#include "growth.hpp"

/// The schemas of the two specs, and of what is read of live objects.
struct Schemas {
    api::Json job = {};
    api::Json runtime = {};
    std::vector<api::Json> live = {};  ///< with `kind` and `apiVersion` of the object beside `properties`
};
Schemas read_schemas();
/// The frameworks that the schema of a runtime knows.
std::vector<std::string> frameworks(const Schemas& schemas);

/// Which lists and maps are long, and what they are in.
struct Subject {
    std::set<std::string> members = {};
    Order order = Order::same;
    std::string framework = {};  ///< a member of mlPolicy
    std::string gang = {};       ///< a member of podGroupPolicy; empty: none
};

/// What webhook and reconciler do with one TrainJob and its runtime, step by step.
struct Step {
    std::string name = {};
    double seconds = 0;  ///< of CPU of this thread
    bool passed = true;  ///< admitted, built
};
/// With so many items in each list and map that grows; of the steps, those of such names, or all.
std::vector<Step> work_through(const Schemas& schemas, const Subject& subject, std::size_t size,
                               const std::set<std::string>& only = {});
/// CPU that this thread has taken.
double cpu_seconds();
/// How many lists and maps are long.
std::size_t places(const Schemas& schemas, const Subject& subject);
