#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/error.hpp"
#include "api/json.hpp"

/// What the names of resources and of classes of devices say about accelerators.
namespace runtime {

/// The meaning of a quantity.
enum class DeviceUnit : std::uint8_t {
    device,    ///< devices, each for a process of its own
    together,  ///< devices that one process of a Pod drives together
    part,      ///< parts of devices. A process sees one of them, so any number is one device
    count,     ///< the number of devices, by a name beside others for the same ones: the largest number
    percent,   ///< hundredths of devices
    share,     ///< how much the Pod has of each of its devices: memory, cores
    none       ///< no device
};

/// The accelerators of one Pod.
struct DeviceCount {
    std::int64_t count = 0;     ///< those with a process each
    std::int64_t together = 0;  ///< those that one process drives
    bool gpus = false;          ///< there are GPUs among them that torchrun counts itself
    bool shared = false;        ///< `count` is of parts and shares, or of devices that schedulers share
    bool known = true;          ///< false: there are claims or resources that may be devices
    std::string why = {};       ///< the claim or resource that is not known, and the reason

    bool any() const { return count > 0 || together > 0; }
    /// Returns how many devices so many Pods have; the largest number instead of an overflow. `pods` is not
    /// negative.
    std::int64_t on(std::int64_t pods) const;
};

/// The table of accelerators. A name is that of a resource, of a device class, or of a driver of devices, in
/// any case.
class DeviceTable {
public:
    /// A row. A `*` in its name stands for any text without a slash.
    struct Row {
        std::string name = {};  ///< in lower case
        DeviceUnit unit = DeviceUnit::none;
    };

    /// Has the built-in rows.
    DeviceTable() = default;
    /// Has them behind those of a platform.
    explicit DeviceTable(std::vector<Row> own) : own_(std::move(own)) {}

    /// Returns the meaning in the first row that fits; nullopt if there is none.
    std::optional<DeviceUnit> find(std::string_view name) const;
    const std::vector<Row>& own() const { return own_; }
    /// Returns the built-in rows, in their order.
    static std::vector<Row> built_in();

private:
    std::vector<Row> own_ = {};
};

/// The option --accelerators of all programs: "example.com/npu=device,example.com/npu-memory=share".
inline constexpr const char* accelerators_help =
    "what resources and device classes are that the built-in table of accelerators lacks, as NAME=MEANING: "
    "device, together, part, count, percent, share or none; a * in a name stands for any text without a "
    "slash";
api::Result<> read_option(std::string_view text, DeviceTable& target);
std::string show_option(const DeviceTable& table);

/// Returns whether a name outside the table may be one of devices: it has a word such as "gpu" or "npu", it
/// is below the domain of a vendor of nothing else, or a model below its vendor's.
bool looks_like_device(std::string_view name);

/// Adds up what names of the table say.
class DeviceSum {
public:
    /// Adds an amount above 0 of something with this name.
    void add(std::string_view name, DeviceUnit unit, std::int64_t amount);
    DeviceCount total() const;

private:
    std::int64_t devices_ = 0;
    std::int64_t together_ = 0;
    std::int64_t shared_devices_ = 0;
    bool has_parts_ = false;
    bool gpus_ = false;
};

/// Returns the devices of a container with these ResourceRequirements and a TrainJob's `resourcesPerNode`.
/// Claims do not count.
DeviceCount devices_of_node(const api::Json& of_container, const api::Json& per_node,
                            const DeviceTable& table);

}  // namespace runtime
