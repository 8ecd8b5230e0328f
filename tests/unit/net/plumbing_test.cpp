#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "loop.hpp"
#include "net/http/http.hpp"
#include "net/process/file.hpp"
#include "net/process/options.hpp"
#include "net/process/run_main.hpp"
#include "net/process/signals.hpp"
#include "net/process/timer.hpp"

using namespace std::chrono_literals;

TEST_CASE("headers are found in any case", "[net]") {
    const net::Headers headers = {{"Content-Type", "a"}, {"content-type", "b"}, {"X", ""}};
    CHECK(net::header(headers, "CONTENT-TYPE") == "a");
    CHECK(net::header(headers, "x").empty());
    CHECK(net::header(headers, "Content").empty());
}

TEST_CASE("files are read completely, or the error names them", "[net]") {
    char name[] = "/tmp/signalbox-file-XXXXXX";
    ::close(::mkstemp(name));
    std::ofstream(name) << std::string(100'000, 'x');
    CHECK(net::read_file(name).value().size() == 100'000);
    CHECK(net::read_file(name, 100'000).has_value());
    CHECK(net::read_file(name, 99'999).error().message ==
          std::string(name) + " is larger than 99999 bytes: is it the right file?");
    std::filesystem::remove(name);
    CHECK(net::read_file(name).error().code == api::Errc::not_found);
    CHECK(net::read_file("/tmp").error().message == "/tmp is a directory: name a file");
    CHECK(net::read_file("/dev/null").value().empty());
}

TEST_CASE("signals are kept until next() is called", "[net]") {
    test::Loop loop;
    net::Signals signals(loop.executor(), {SIGUSR1, SIGUSR2});
    ::kill(::getpid(), SIGUSR1);
    CHECK(loop.run(signals.next()) == SIGUSR1);
    // A signal between two calls is not lost.
    ::kill(::getpid(), SIGUSR2);
    loop.settle();
    CHECK(loop.run(signals.next()) == SIGUSR2);
}

TEST_CASE("a signal that arrives before a program waits for signals is kept", "[net]") {
    sigset_t before;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    for (const int number : {SIGTERM, SIGINT}) {
        CAPTURE(number);
        int received = 0;
        net::Options options("prog", "Waits.", "1");
        const char* arguments[] = {"prog"};
        const int status = net::run_main(options, 1, arguments, [&]() -> api::Result<> {
            sigset_t held;
            ::pthread_sigmask(SIG_SETMASK, nullptr, &held);
            if (!::sigismember(&held, number)) return api::invalid("", "it would end the program");
            ::kill(::getpid(), number);
            test::Loop loop;
            net::Signals signals(loop.executor(), {SIGTERM, SIGINT});
            received = loop.run(signals.next());
            return {};
        });
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        CHECK(status == 0);
        CHECK(received == number);
    }
}

TEST_CASE("sleeping ends with its time or with its cancellation", "[net]") {
    test::Loop loop;
    const auto before = std::chrono::steady_clock::now();
    loop.run(net::sleep_for(3ms));
    CHECK(std::chrono::steady_clock::now() - before >= 3ms);

    boost::asio::cancellation_signal signal;
    bool ended = false;
    boost::asio::co_spawn(
        loop.context(), net::sleep_for(1h),
        boost::asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr) { ended = true; }));
    loop.settle();
    CHECK_FALSE(ended);
    signal.emit(boost::asio::cancellation_type::terminal);
    loop.run_until([&] { return ended; });
}

TEST_CASE("a wakeup is kept, merged with others, and times out", "[net]") {
    test::Loop loop;
    net::Wakeup wakeup(loop.executor());
    wakeup.notify();
    wakeup.notify();
    CHECK(loop.run(wakeup.wait()));
    CHECK_FALSE(loop.run(wakeup.wait_until(std::chrono::steady_clock::now())));
    bool woken = false;
    boost::asio::co_spawn(loop.context(), wakeup.wait(),
                          [&](std::exception_ptr, bool notified) { woken = notified; });
    loop.settle();
    CHECK_FALSE(woken);
    wakeup.notify();
    loop.run_until([&] { return woken; });
}

TEST_CASE("a wakeup may be destroyed before its waiter", "[net]") {
    test::Loop loop;
    auto wakeup = std::make_unique<net::Wakeup>(loop.executor());
    bool ended = false;
    boost::asio::co_spawn(loop.context(), wakeup->wait(), [&](std::exception_ptr, bool) { ended = true; });
    loop.settle();
    wakeup.reset();
    loop.run_until([&] { return ended; });
}
