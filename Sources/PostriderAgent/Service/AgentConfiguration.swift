import Foundation
public import PostriderCourier
public import PostriderDBus
import PostriderNotifications
public import PostriderTransport

/// What an agent is to do, as the command line and the configuration file say it.
public struct AgentConfiguration: Sendable {
    /// Where the relay waits for devices.
    public var relay: Destination
    /// The authorities whose certificates the relay may have, PEM; nil: those that the system trusts.
    public var trustFile: String?
    /// The name that the relay's certificate must carry; nil: the relay's host.
    public var serverName: String?
    /// Where identity, apps and inbox are kept; made where it is missing.
    public var stateDirectory: String
    /// The Unix socket where apps connect.
    public var socketPath: String
    /// What buys the device its identity; needed until it has one.
    public var enrolmentKey: String?
    /// The file that was to hold it and does not, as of a device that has enrolled and was rid of its key.
    public var absentKeyFile: String?
    /// The file that was to hold it and cannot be read, as of an agent that has enrolled as another user.
    public var unreadableKeyFile: String?
    /// What the device calls itself, for the operator's eyes.
    public var name: String
    /// Program and version, likewise.
    public var version: String
    /// The wished seconds between signs of life on the link; 0 leaves it to the relay.
    public var keepaliveSeconds: UInt32 = 0
    /// What becomes of the device's identity when another machine uses it too.
    public var onClone = ClonePolicy.wait
    /// The declared topics, each with the user whose processes may be that app.
    public var apps: [String: UInt32] = [:]

    /// The apps that the agent starts, by their topics; their users are theirs as above.
    public var manifests: [AppManifest] = []
    /// The user whose processes, besides root's, may be the device's input method.
    public var keyboardUser = UserAccount.own
    /// How often an app is handed over a notification that it does not handle.
    public var deliveryAttempts = Limits.deliveryAttempts.usual

    /// The bus of the session in which alerts are shown; nil: there is nowhere to show them.
    public var sessionBus: BusAddress?

    /// Whether the relay's trace is told what became of notifications.
    public var reports = true

    /// What an app is answered that asks to be allowed to notify; `notDetermined`: the owner of the device is waited
    /// for.
    public var authorization = AuthorizationStatus.notDetermined
    /// Milliseconds after its moment during which a local notification is still delivered, where the device was off.
    public var latenessMilliseconds: Int64 = 86_400_000

    /// Has the agent hear of the device's sleep on the bus of the machine, where these variables or the system's custom
    /// say that it is.
    public mutating func useSystemBus(in environment: [String: String]) {
        systemBus = BusAddress.system(in: environment)
    }

    /// The manifests of apps, without those that name handlers.
    var appManifests: [AppManifest] { manifests.filter { $0.handler == nil } }

    /// Where units find what they are started for: beside the socket, which lies in the runtime directory.
    var handlerDirectory: String { URL(filePath: socketPath).deletingLastPathComponent().path + "/handlers" }

    /// Whose the declared topics are, with a manifest or without.
    var declarations: [String: UInt32] {
        apps.merging(manifests.map { ($0.topic, $0.user) }) { $1 }
    }

    /// When the relay is asked to send in groups what is considerate of the device's power.
    public var powerSaving = PowerSaving.whenOnBattery

    /// The bus of the machine, on which its login manager tells when it sleeps; nil: nobody does.
    var systemBus: BusAddress?

    /// A configuration from what has no default.
    public init(relay: Destination, stateDirectory: String, socketPath: String, name: String, version: String)
    {
        self.relay = relay
        self.stateDirectory = stateDirectory
        self.socketPath = socketPath
        self.name = name
        self.version = version
    }
}

/// What an agent does that the relay turns away because another machine uses the same identity.
public enum ClonePolicy: String, CaseIterable, Sendable {
    /// Enrols anew by its enrolment key: this machine becomes another device, with other tokens.
    case enrolAnew = "enrol-anew"
    /// Waits until the other machine is gone.
    case wait
}

/// When a device saves power: the relay sends it notifications of priority 5 in groups.
public enum PowerSaving: Sendable {
    /// While it lives on its battery.
    case whenOnBattery
    /// Always, and never.
    case always, never
}

/// Why an agent cannot go on. One sentence: what is wrong and what to do.
public struct AgentFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// A device that has no identity, and nothing that buys one.
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
