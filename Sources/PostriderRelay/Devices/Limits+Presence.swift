import PostriderNotifications

extension Limits {
    /// Milliseconds between a change of presence and its transaction, so that many changes share one.
    static let presenceMilliseconds = 1_000
    /// The most devices of one shard in one such transaction, which takes about 5 milliseconds.
    static let presencesAtOnce = 1024
    /// Seconds after which the registry may store another presence of the same device.
    static let presenceRestSeconds: UInt32 = 60
    /// Milliseconds between two notes in the registry that the relay runs.
    static let runNoteMilliseconds: Int64 = 30_000
    /// The most texts of agents (program and version) that devices of a shard share. All others are stored once per
    /// device.
    static let sharedAgentTexts = 256
    /// The most devices in one run of the operator's program. At about 300 bytes each: 300 KiB.
    static let presencesPerRun = 1000
    /// The most devices that wait for a run of the program. At about 400 bytes each: 26 MiB.
    static let presencesWaiting = 65_536
    /// The most batches of events on their way to the operator's program; further ones are lost, and that is logged.
    static let presenceMessages = 1024
    /// The longest run of the operator's program, in seconds.
    static let presenceProgramSeconds = 60
    /// The most bytes of its output that are kept; the last of them are logged.
    static let presenceTailBytes = 1024
    /// The most programs that follow the events of devices.
    static let eventStreams = 16
    /// The most bytes that wait for one of them; above that its stream is ended. All of them: 16 MiB.
    static let eventStreamBytes = 1024 * 1024
    /// The most events that a node of a cluster keeps for other nodes whose operators follow them. At about 500 bytes
    /// each: 2 MiB.
    static let keptDeviceEvents = 4_096
    /// The most events in one answer to another node. The next ones are asked for at once.
    static let deviceEventsAtOnce = 1_024
    /// Milliseconds for which a node keeps events that no other node asks for.
    static let keptDeviceEventsMilliseconds = 30_000
    /// Milliseconds between two questions to another node for the events of its devices.
    static let deviceEventsMilliseconds = 250
}
