import Testing

@testable import PostriderDBus

@Suite("The address of a bus")
struct BusAddressTests {
    @Test(
        "is one of Unix sockets, or none",
        arguments: [
            ("unix:path=/run/user/1000/bus", "unix:path=/run/user/1000/bus"),
            (
                "tcp:host=a;unix:abstract=/x,guid=1;unixexec:path=/bin/sh;unix:path=/y",
                "unix:abstract=/x,guid=1;unix:path=/y"
            ),
            ("tcp:host=a", nil), ("unixexec:path=/bin/sh", nil), ("autolaunch:", nil), ("", nil),
            ("unix:path=/a\0b", nil),
        ]
    )
    func reading(_ text: String, _ expected: String?) {
        #expect(BusAddress(text)?.description == expected)
    }

    @Test(
        "of a session is what its variables say",
        arguments: [
            ([:], nil), (["XDG_RUNTIME_DIR": "/run/user/1"], "unix:path=/run/user/1/bus"),
            (["XDG_RUNTIME_DIR": "/a b;c"], "unix:path=/a%20b%3bc/bus"), (["XDG_RUNTIME_DIR": "a"], nil),
            (
                ["XDG_RUNTIME_DIR": "/r", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/s"], "unix:path=/s"
            ),
            (["XDG_RUNTIME_DIR": "/r", "DBUS_SESSION_BUS_ADDRESS": ""], "unix:path=/r/bus"),
            (["DBUS_SESSION_BUS_ADDRESS": "disabled:"], nil),
        ] as [([String: String], String?)]
    )
    func session(_ environment: [String: String], _ expected: String?) {
        #expect(BusAddress.session(in: environment)?.description == expected)
    }

    @Test("of the machine is the usual one, unless a variable says otherwise")
    func system() {
        #expect(BusAddress.system(in: [:])?.description == "unix:path=/run/dbus/system_bus_socket")
        #expect(
            BusAddress.system(in: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/s"])?.description == "unix:path=/s"
        )
    }
}
