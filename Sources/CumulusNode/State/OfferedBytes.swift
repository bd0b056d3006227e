// The memory that a donor's offer takes here: it counts the bytes that are held, not the bytes that
// were sent.
//
// Counted by `StateOffer.add` message by message, judged by `StateTransfer`.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusWire

extension StateOffer {
    /// Refuses an offer that is larger than this node's room.
    func checkSize(_ limits: Limits) throws(ServiceError) {
        guard heldBytes <= limits.offeredStateBytes else {
            throw ServiceError(
                .limitExceeded,
                .tooLarge,
                """
                the donor's zones, registers and increments take more memory than \
                offeredStateBytes allows (\(limits.offeredStateBytes)); raise it by --limits, or \
                restore a backup of the donor
                """
            )
        }
    }
}

extension StateOffer {
    /// About how much memory the parts of an offer take that a message holds.
    static func heldBytes(_ response: StateResponse) -> Int {
        var size = response.vectors.reduce(0) {
            $0 + slots(VectorRow.self) + decoded($1.row)
        }
        for zone in response.zones {
            size += slots(Zone.self) + heap(zone.owner) + 3 * heap(zone.name)
            size += decoded(zone.row) + entryBytes * zone.heads.dots.count
        }
        for register in response.registers {
            size += slots(Register.self) + heap(register.namespace) + heap(register.row)
            size += register.key.reduce(headerBytes) { $0 + slots(Bytes.self) + heap($1) }
        }
        for increment in response.increments {
            size += slots(Increment.self) + heap(increment.request)
            size += heap(increment.recordName) + heap(increment.field)
        }
        return size
    }

    /// Bytes of a heap object's header and of the allocator's rounding.
    private static let headerBytes = 48
    /// An entry of a vector that may be half empty.
    private static let entryBytes = 48

    /// An element of an array or a dictionary that may be half empty.
    private static func slots<Element>(_: Element.Type) -> Int {
        2 * MemoryLayout<Element>.stride
    }

    private static func heap(_ bytes: Bytes) -> Int {
        headerBytes + bytes.count
    }

    /// A row is hardly more than its vectors; an entry has at least nine bytes.
    private static func decoded(_ row: Bytes) -> Int {
        2 * headerBytes + row.count / 9 * entryBytes
    }
}
