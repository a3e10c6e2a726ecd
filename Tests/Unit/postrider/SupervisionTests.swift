import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The watchdog of systemd")
struct SupervisionTests {
    @Test(
        "is told of twice as often as it asks for, if it asks this process",
        arguments: [
            (["WATCHDOG_USEC": "30000000"], .seconds(15)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"], .seconds(15)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"], nil),
            (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "soon"], nil), ([:], nil),
        ] as [([String: String], Duration?)])
    func period(_ environment: [String: String], _ expected: Duration?) {
        #expect(Supervision.period(environment, 7) == expected)
    }
}
