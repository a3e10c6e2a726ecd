import Foundation
import PostriderOptions
import PostriderRelay

/// `postrider enrolment-keys`: what devices enrol with.
enum EnrolmentKeysCommand: OperatorCommand {
    static let name = "enrolment-keys"
    static let summary = "List, add and remove the keys with which devices enrol."
    static let actions = [
        OperatorAction(name, "list", "List the enrolment keys by their names.") { options, client in
            let (keys, text) = try await client.list("/v1/enrolment-keys", of: [Control.EnrolmentKey].self)
            if options.isSet("json") {
                Console.say(text)
            } else {
                Console.say(
                    Listing.columns(["NAME", "ADDED"], keys.map { [$0.name, Listing.time($0.addedAt)] }))
            }
        },
        OperatorAction(
            name, "add", "Make an enrolment key and print it, this once: the relay keeps only its digest.",
            operands: [.required("NAME")],
            examples: [
                .init(
                    "A key for a batch of devices, in a file",
                    "postrider enrolment-keys add batch-7 > enrolment.key")
            ]
        ) { options, client in
            let name = try options.checked(options.operands[0])
            let answer = try await client.request("PUT", "/v1/enrolment-keys/\(name)")
            guard let made = try? JSONDecoder().decode(Control.NewEnrolmentKey.self, from: Data(answer))
            else {
                throw CommandFailure(
                    "The relay made the enrolment key \(name), but did not tell it: remove it again.")
            }
            options.say(answer, made.key)
        },
        OperatorAction(
            name, "remove", "Let no device enrol with a key any more; those that did stay.",
            operands: [.required("NAME")],
            examples: [.init("A key that is known too widely", "postrider enrolment-keys remove batch-7")]
        ) { options, client in
            let name = try options.checked(options.operands[0])
            let answer = try await client.request("DELETE", "/v1/enrolment-keys/\(name)")
            options.say(answer, "Devices cannot enrol with \(name) any more.")
        },
    ]
}
