import PostriderCourier
import PostriderNotifications

extension NodeQuery {
    /// Appends the message as a field of a ``ShardMessage``. Returns false for one that stays within a process.
    func encode(into output: inout [UInt8]) -> Bool {
        switch self {
        case .ask(let question, let address):
            output.append(.nodeAsk, address) { output in
                if let question { output.appendField(2, message: question.encode) }
            }
        case .goOn(let address): output.append(.nodeGoOn, address) { _ in }
        case .answer(let piece, let address):
            output.append(.nodeAnswer, address) { output in
                output.appendField(2, UInt64(piece.status))
                output.appendField(3, piece.bytes)
                output.appendField(4, piece.isLast ? 1 : 0)
            }
        case .unsent: return false
        }
        return true
    }

    /// Decodes a message of one of the kinds for questions between nodes.
    init(_ kind: ShardMessage.Kind, _ bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (address, question) = (ReplyAddress?.none, NodeQuestion?.none)
        var (status, piece, isLast) = (0, [UInt8](), false)
        while let field = try reader.next(in: bytes) {
            switch (field.number, kind) {
            case (1, _): address = try ReplyAddress(decoding: bytes.extracting(try field.range()))
            case (2, .nodeAsk): question = try NodeQuestion.decode(bytes.extracting(try field.range()))
            case (2, .nodeAnswer):
                let number: UInt16 = try field.exactly()
                status = Int(number)
            case (3, .nodeAnswer): piece = try field.bytes(in: bytes, atMost: Limits.nodeAnswerPieceBytes)
            case (4, .nodeAnswer): isLast = try field.uint64() != 0
            default: break
            }
        }
        guard let address else { throw .missingChoice(of: "a question between nodes", fields: "address") }
        self =
            switch kind {
            case .nodeAsk: .ask(question, address)
            case .nodeGoOn: .goOn(address)
            default:
                .answer(NodeAnswerPiece(status: status, bytes: piece, isLast: isLast), address)
            }
    }
}
