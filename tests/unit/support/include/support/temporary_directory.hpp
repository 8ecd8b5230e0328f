#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace test {

/// A directory of its own, which goes with everything in it when the test is over.
class TemporaryDirectory {
public:
    TemporaryDirectory() {
        char name[] = "/tmp/signalbox-test-XXXXXX";
        if (!::mkdtemp(name)) throw std::runtime_error("cannot make a temporary directory");
        path = name;
    }
    ~TemporaryDirectory() { std::filesystem::remove_all(path); }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    /// Returns the file's path.
    std::string write(const std::string& name, const std::string& text) const {
        const std::string file = path + "/" + name;
        std::ofstream(file) << text;
        return file;
    }
    /// `text` with the names of files in it as they are within the directory.
    std::string bare(std::string text) const {
        for (auto at = text.find(path + "/"); at != text.npos; at = text.find(path + "/", at))
            text.erase(at, path.size() + 1);
        return text;
    }

    std::string path;
};

}  // namespace test
