import FoundationEssentials
import PostriderHTTP2
import PostriderNotifications

/// Copies of the store.
extension ControlHandler {
    /// Has the ledger copy the store into a directory of the relay's machine, and answers when the copy is durable.
    func backUp(_ body: [UInt8], _ respond: @escaping Respond) {
        guard let order = try? JSONDecoder().decode(Control.Backup.self, from: Data(body)),
            Self.isPath(order.directory)
        else {
            respond(Self.refusal(400, "The directory of a backup is an absolute path."))
            return
        }
        changes.backUp(to: order.directory) { [log = context.log] result in
            switch result {
            case .success:
                log.notice("the store was copied to \(order.directory)")
                respond(.done)
            case .failure(let error):
                log.error("the store was not copied to \(order.directory): \(error)")
                respond(Self.refusal(ofCopy: error))
            }
        }
    }

    /// A name that is taken is the caller's fault; all other failures are those of the store or its disk.
    static func refusal(ofCopy error: StoreError) -> Answer {
        refusal(error.kind == .conflict ? 409 : 503, error.description)
    }

    private static func isPath(_ text: String) -> Bool {
        text.hasPrefix("/") && !text.hasSuffix("/") && text.utf8.count < 4000 && !text.utf8.contains(0)
    }
}
