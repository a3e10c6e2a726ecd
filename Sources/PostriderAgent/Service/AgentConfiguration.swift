import FoundationEssentials
public import PostriderCourier
public import PostriderDBus
import PostriderNotifications
import PostriderSystem
public import PostriderTransport

/// The configuration of an agent, from the command line and the configuration file.
public struct AgentConfiguration: Sendable {
    /// The addresses of the relay's device port, in the order of preference, at most ``Limits/relayAddresses``.
    public var relays: [Destination]
    /// The certificate authorities that the relay's certificate may be signed by, PEM; nil for those that the system
    /// trusts.
    public var trustFile: String?
    /// The name that the relay's certificate must carry, at each address; nil for the host of the address.
    public var serverName: String?
    /// The proxy through which the agent connects to the relay; nil for a direct connection.
    public var proxy: Proxy?
    /// The directory for identity, apps and inbox; it is created if it is missing.
    public var stateDirectory: String
    /// The Unix socket where apps connect.
    public var socketPath: String
    /// The key with which the device enrols; needed until it has an identity.
    public var enrolmentKey: String?
    /// The key's file, if it does not exist: for example because it was deleted after the device had enrolled.
    public var absentKeyFile: String?
    /// The key's file, if it cannot be read: for example because the agent has enrolled as another user.
    public var unreadableKeyFile: String?
    /// The name of the device, for the operator.
    public var name: String
    /// Words by which the operator groups devices, told when the device enrols.
    public var tags: [String] = []
    /// The program and its version, for the operator.
    public var version: String
    /// Seconds between PINGs on the link; 0 leaves it to the relay.
    public var keepaliveSeconds: UInt32 = 0
    /// What the agent does if another machine uses the device's identity too.
    public var onClone = ClonePolicy.wait
    /// The declared topics, each with the user whose processes may be that app.
    public var apps: [String: UInt32] = [:]

    /// The apps that the agent starts, by topic. ``apps`` has their users too.
    public var manifests: [AppManifest] = []
    /// The user whose processes, besides root's, may be the device's input method.
    public var keyboardUser = UserAccount.own
    /// How often a notification is handed over to an app that does not handle it.
    public var deliveryAttempts = Limits.deliveryAttempts.usual

    /// The session bus on which alerts are shown; nil if they are not.
    public var sessionBus: BusAddress?

    /// Whether apps of the session can register by UnifiedPush, over the session bus.
    public var isDistributor = false

    /// Whether the relay's trace is told what became of notifications.
    public var reports = true

    /// The answer to apps that ask for authorization to notify; `notDetermined` if the owner of the device is asked.
    public var authorization = AuthorizationStatus.notDetermined
    /// For how many milliseconds after its moment a local notification is still delivered, if the device was off.
    public var latenessMilliseconds: Int64 = 86_400_000

    /// Makes the agent listen for sleep on the system bus, at the address that these variables or the system's default
    /// name.
    public mutating func useSystemBus(in environment: [String: String]) {
        systemBus = BusAddress.system(in: environment)
    }

    /// The manifests of apps, without those that name handlers.
    var appManifests: [AppManifest] { manifests.filter { $0.handler == nil } }

    /// Where units find the payloads that they are started for: beside the socket, which is in the runtime directory.
    var handlerDirectory: String { URL(filePath: socketPath).deletingLastPathComponent().path + "/handlers" }

    /// The user of each declared topic, with a manifest or without.
    var declarations: [String: UInt32] {
        apps.merging(manifests.map { ($0.topic, $0.user) }) { $1 }
    }

    /// When the relay is asked to send notifications of priority 5 in groups.
    public var powerSaving = PowerSaving.whenOnBattery

    /// The system bus, on which logind announces sleep; nil if the agent does not listen there.
    var systemBus: BusAddress?

    /// A configuration of the settings that have no default.
    public init(
        relays: [Destination], stateDirectory: String, socketPath: String, name: String, version: String
    ) {
        precondition(!relays.isEmpty, "an agent has a relay")
        self.relays = relays
        self.stateDirectory = stateDirectory
        self.socketPath = socketPath
        self.name = name
        self.version = version
    }
}

/// What an agent does if the relay rejects it because another machine uses the same identity.
public enum ClonePolicy: String, CaseIterable, Sendable {
    /// Enrol again with the enrolment key: this machine becomes another device, with other tokens.
    case enrolAnew = "enrol-anew"
    /// Wait until the other machine is gone.
    case wait
}

/// When a device saves power, so that the relay sends it notifications of priority 5 in groups.
public enum PowerSaving: Sendable {
    /// While the device runs on its battery.
    case whenOnBattery
    /// Always, and never.
    case always, never
}

/// Why an agent cannot go on, in one sentence: what is wrong and what to do.
public struct AgentFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// A device without an identity and without an enrolment key.
    static func notEnrolled(_ configuration: AgentConfiguration) -> AgentFailure {
        let absence = configuration.absentKeyFile.map { ", and there is no enrolment key in \($0)" }
        let obstacle = configuration.unreadableKeyFile.map {
            ", and the file \($0) cannot be read by the agent's user"
        }
        return AgentFailure(
            description: "The device is not enrolled yet\(absence ?? obstacle ?? ""): give the agent an "
                + "enrolment key, by enrolment-key-file or in POSTRIDER_ENROLMENT_KEY.")
    }
}
