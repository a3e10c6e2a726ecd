import Foundation
import PostriderNotifications
import PostriderSeededRandom
import PostriderStorage

/// Fills a store with absent devices and stored notifications, as a relay would have left it, in seconds instead of
/// the minute that enrolments and pushes would take.
@main
enum FillStore {
    private static let usage = "usage: fill-store DIRECTORY TOPIC DEVICES NOTIFICATIONS"
    /// The number of rows of one transaction.
    private static let batch = 2000
    private static let payload = Array(#"{"aps":{"alert":"\#(String(repeating: "a", count: 181))"}}"#.utf8)

    static func main() {
        let words = CommandLine.arguments
        guard words.count == 5, let topic = Topic(words[2]), let devices = Int(words[3]), devices > 0,
            let notifications = Int(words[4]), notifications >= 0
        else { return fail(usage, exitCode: 2) }
        do throws(StoreError) {
            let log = Log { _, line in FileHandle.standardError.write(Data("\(line)\n".utf8)) }
            let store = try SQLiteStore(directory: words[1], log: log)
            let last = try store.scanQueue { _ in }
            try enrol(devices, topic, in: store)
            try enqueue(notifications, for: devices, topic, after: last, in: store)
            store.close()
        } catch {
            fail("\(error)", exitCode: 1)
        }
    }

    private static func enrol(_ devices: Int, _ topic: Topic, in store: SQLiteStore) throws(StoreError) {
        for first in stride(from: 0, to: devices, by: batch) {
            let changes = (first..<min(first + batch, devices)).flatMap { number -> [RegistryChange] in
                [
                    .putDevice(
                        DeviceRecord(
                            identity: device(number), secretDigest: [UInt8](repeating: 7, count: 32),
                            name: "device \(number)", enrolledAt: now)),
                    .putRegistration(
                        RegistrationRecord(
                            device: device(number), number: registration, topic: topic, registeredAt: now,
                            unregisteredAt: nil)),
                ]
            }
            try wait { store.apply(changes, completion: $0) }
        }
    }

    private static func enqueue(
        _ count: Int, for devices: Int, _ topic: Topic, after last: QueueRow, in store: SQLiteStore
    ) throws(StoreError) {
        for first in stride(from: 0, to: count, by: Self.batch) {
            var batch = QueueBatch()
            batch.enqueued = (first..<min(first + Self.batch, count)).map { number in
                QueuedNotification(
                    row: QueueRow(last.value + Int64(number) + 1),
                    notification: Notification(
                        identity: NotificationIdentity(random: UInt64(number), mixed(UInt64(number))),
                        device: device(number % devices), registration: registration, topic: topic,
                        pushType: .alert, priority: .immediate, expiration: .at(later),
                        collapseIdentifier: nil, payload: payload, acceptedAt: now))
            }
            try wait { store.commit(batch, completion: $0) }
        }
    }

    /// Waits for a completion, which this store calls before each call returns.
    private static func wait(
        _ call: (@escaping (Result<Void, StoreError>) -> Void) -> Void
    ) throws(StoreError) {
        var result: Result<Void, StoreError>?
        call { result = $0 }
        try result?.get()
    }

    private static let now = Moment(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    private static let later = Moment(milliseconds: now.milliseconds + 30 * 86_400_000)
    private static let registration = RegistrationNumber(1)

    /// The relay draws identities at random; these are spread over the same range.
    private static func device(_ number: Int) -> DeviceIdentity {
        DeviceIdentity(high: mixed(UInt64(number)), low: UInt32(number))
    }

    /// The number at this index of a fixed sequence.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var numbers = SplitMix64(seed: number &* SplitMix64.step)
        return numbers.next()
    }

    private static func fail(_ sentence: String, exitCode: Int32) {
        FileHandle.standardError.write(Data("fill-store: \(sentence)\n".utf8))
        exit(exitCode)
    }
}
