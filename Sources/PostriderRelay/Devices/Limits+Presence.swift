import PostriderNotifications

extension Limits {
    /// Milliseconds until the registry is told of devices that have connected or left: many are told together.
    static let presenceMilliseconds = 1_000
    /// Such devices of one shard in one transaction, which takes about 5 milliseconds.
    static let presencesAtOnce = 1024
    /// Seconds for which the registry is not told of a device again.
    static let presenceRestSeconds: UInt32 = 60
    /// Milliseconds between two notes in the registry that the relay runs.
    static let runNoteMilliseconds: Int64 = 30_000
    /// Texts of agents, program and version, that devices of a shard share instead of keeping one each.
    static let sharedAgentTexts = 256
    /// Devices of which one run of the operator's program is told. At about 300 bytes each: 300 KiB.
    static let presencesPerRun = 1000
    /// Devices that wait until they are told. At about 400 bytes each: 26 MiB.
    static let presencesWaiting = 65_536
    /// Batches of events on their way to the operator's program; further ones are lost, and the log says so.
    static let presenceLetters = 1024
    /// Seconds that one run of the operator's program has.
    static let presenceProgramSeconds = 60
    /// Bytes of its output that are kept, the last of which go to the log.
    static let presenceTailBytes = 1024
    /// Programs that follow the events of devices.
    static let eventStreams = 16
    /// Bytes that may wait for one of them; then it is ended. All of them: 16 MiB.
    static let eventStreamBytes = 1024 * 1024
}
