import FoundationEssentials
import Glibc
import PostriderClients
import PostriderCommands
import PostriderCourier
import PostriderCrypto
import PostriderNotifications
import PostriderOptions
import PostriderSystem
import PostriderTransport

/// `postrider device`: a device that prints the notifications that it gets.
enum DeviceCommand: Command {
    static let name = "device"
    static let summary = "Simulate a device that prints its notifications."
    static let endsInGoodOrder = true

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        try ParentOption.follow(options)
        let order = try DeviceArguments(options, environment: ProcessInfo.processInfo.environment)
        let state: DeviceState
        if let kept = try order.readState() {
            state = kept
        } else {
            state = try await enrol(order)
            try order.write(state)
        }
        try await LoopThread.run("device") { loop in
            let device = try SimulatedDevice(order, state, on: loop)
            try loop.onSignal([SIGTERM, SIGINT]) { _ in device.stop() }
            device.start()
            return { if let failure = device.failure { throw failure } }
        }
        return 0
    }

    /// Enrols with the enrolment key and returns the identity.
    static func enrol(_ order: DeviceArguments) async throws -> DeviceState {
        let key = try order.enrolmentKey()
        let answer: Result<EnrollResponse, EnrolmentError>? = try await LoopThread.run("device") { loop in
            var answer: Result<EnrollResponse, EnrolmentError>?
            try loop.onSignal([SIGTERM, SIGINT]) { [unowned loop] _ in loop.stop() }
            DeviceClient.enrol(at: order.relay, key: key, name: order.name, on: loop) { [unowned loop] in
                answer = $0
                loop.stop()
            }
            return { answer }
        }
        switch answer {
        case .success(let response):
            return DeviceState(identity: response.deviceIdentity, secret: response.deviceSecret)
        case nil: throw CommandFailure("The device was ended before it was enrolled.")
        case .failure(let error):
            throw CommandFailure("The device cannot be enrolled at \(order.relay.destination): \(error).")
        }
    }

    static let table = OptionTable(
        command: "postrider device",
        summary: """
            Be a device: enrol, connect, register topics, print their device tokens and then every \
            notification, until SIGINT, SIGTERM, --count or the end of whoever reads that. It comes back \
            when the link is lost. Without --relay it is for the relay of 'postrider dev'.
            """,
        options: [
            .list("topic", "TOPIC", "A topic to register."),
            .value(
                "environment", "NAME",
                "The environment of the device tokens: production (if not given) or development."),
            .list("channel", "CHANNEL", "A channel to subscribe to; there must be exactly one topic."),
            .value("count", short: "n", "NUMBER", "End after this many notifications."),
            .flag("json", "Print a line of JSON for each event."),
            ParentOption.option,
            .value("name", "NAME", "The name of the device; 'postrider device' if not given."),
            .value("keepalive", "SECONDS", "The interval between PINGs; the relay's choice if not given."),
            .file("state", "Store the identity in this file, to be the same device next time."),
            .file(
                "enrolment-key-file",
                "A file with the enrolment key; the environment variable comes first."),
        ] + RelayResolver.options(.device),
        sections: [
            .init(
                "Environment", [(DeviceArguments.keyVariable, "The enrolment key; it comes before the file.")]
            )
        ],
        examples: [
            .init(
                "Simulate a device of the relay of 'postrider dev'",
                "postrider device --topic org.example.app"),
            .init(
                "Simulate the same device of another relay each time",
                "postrider device --relay push.example.org:5223 --ca ca.pem --state device.json "
                    + "--enrolment-key-file enrolment.key --topic org.example.app"),
        ]
    )
}
