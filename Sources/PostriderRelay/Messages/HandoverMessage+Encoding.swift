import PostriderCluster
import PostriderCourier
import PostriderNotifications

extension HandoverMessage {
    /// Appends the message as a field of a ``ShardMessage``.
    func encode(into output: inout [UInt8]) {
        switch self {
        case .again(let request):
            output.appendField(ShardMessage.Kind.requestAgain.number, message: request.encode)
        case .returned(let request):
            output.appendField(ShardMessage.Kind.requestReturned.number, message: request.encode)
        case .recall(let partitions, let place, let ticket):
            output.appendField(ShardMessage.Kind.recall.number) { output in
                output.appendField(1, UInt64(place))
                output.appendField(2, ticket)
                var bits = [UInt8](repeating: 0, count: Partition.count / 8)
                for partition in partitions { bits[partition.number / 8] |= 1 << (partition.number % 8) }
                output.appendField(3, bits)
            }
        case .recalled(let place, let ticket, let shards):
            output.appendField(ShardMessage.Kind.recalled.number) { output in
                output.appendField(1, UInt64(place))
                output.appendField(2, ticket)
                output.appendField(3, UInt64(shards))
            }
        }
    }

    /// Decodes a message of one of the kinds for requests that wait.
    init(_ kind: ShardMessage.Kind, _ bytes: Span<UInt8>) throws(CourierError) {
        switch kind {
        case .requestAgain: self = .again(try WaitingRequest(decoding: bytes))
        case .requestReturned: self = .returned(try WaitingRequest(decoding: bytes))
        case .recall: self = try HandoverMessage(recall: bytes)
        default: self = try HandoverMessage(recalled: bytes)
        }
    }

    private init(recall bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (place, ticket, partitions) = (UInt16(0), UInt64(0), Set<Partition>())
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: place = try field.exactly()
            case 2: ticket = try field.uint64()
            case 3:
                let bits = try field.bytes(in: bytes, atMost: Partition.count / 8)
                for number in 0..<8 * bits.count where bits[number / 8] >> (number % 8) & 1 == 1 {
                    partitions.insert(Partition(number))
                }
            default: break
            }
        }
        self = .recall(partitions, place: Int(place), ticket: ticket)
    }

    private init(recalled bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (place, ticket, shards) = (UInt16(0), UInt64(0), UInt16(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: place = try field.exactly()
            case 2: ticket = try field.uint64()
            case 3: shards = try field.exactly()
            default: break
            }
        }
        self = .recalled(place: Int(place), ticket: ticket, shards: Int(shards))
    }
}

extension WaitingRequest {
    fileprivate func encode(into output: inout [UInt8]) {
        switch content {
        case .push(let notification): notification.encode(for: address, into: &output)
        case .order(let order, let owner): order.encode(of: owner, for: address, into: &output)
        case .web(let request): request.encode(for: address, into: &output)
        }
        output.appendField(2, UInt64(waited))
    }

    fileprivate init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (request, waited) = (WaitingRequest?.none, UInt32(0))
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1:
                guard
                    case .deliver(let notification, let address) = try PushMessage(
                        delivery: bytes.extracting(try field.range()))
                else { continue }
                request = WaitingRequest(.push(notification), address)
            case 2: waited = try field.exactly()
            case 3:
                guard
                    case .order(let order, let owner, let address) = try ChannelMessage(
                        order: bytes.extracting(try field.range()))
                else { continue }
                request = WaitingRequest(.order(order, owner), address)
            default:
                guard let kind = ShardMessage.Kind(rawValue: field.number), kind.isOfSender else { continue }
                let (content, address) = try SenderRequest.decode(kind, bytes.extracting(try field.range()))
                request = WaitingRequest(.web(content), address)
            }
        }
        guard var request else {
            throw .missingChoice(of: "WaitingRequest", fields: "a push, an order or a sender's request")
        }
        request.waited = waited
        self = request
    }
}
