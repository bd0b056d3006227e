// An ordered map of bytes whose older versions stay unchanged.
//
// `MemoryEngine` keeps one per family: a copy of the struct is a snapshot in constant time. The map
// is a treap, ordered by key and a heap by priority. The priority is a hash of the key, so the
// shape depends on the content alone. The depth is logarithmic. Nodes never change; a write
// replaces the nodes along one path.

import CumulusModel

struct PersistentTree: Sendable {
    private var root: Node?

    private final class Node: Sendable {
        let key: Bytes
        let value: Bytes
        let priority: UInt64
        let left: Node?
        let right: Node?

        init(key: Bytes, value: Bytes) {
            self.key = key
            self.value = value
            priority = PersistentTree.priority(of: key)
            left = nil
            right = nil
        }

        /// A copy of `node` with other children.
        init(_ node: Node, left: Node?, right: Node?) {
            key = node.key
            value = node.value
            priority = node.priority
            self.left = left
            self.right = right
        }
    }

    func value(of key: Bytes) -> Bytes? {
        var place = root
        while let node = place {
            if node.key == key { return node.value }
            place = precedes(key, node.key) ? node.left : node.right
        }
        return nil
    }

    /// nil removes the key.
    mutating func set(_ key: Bytes, to value: Bytes?) {
        // The range holds this key alone: no key lies between it and itself plus a zero byte.
        replace(
            KeyRange(start: key, end: key + [0]),
            with: value.map { Node(key: key, value: $0) }
        )
    }

    mutating func remove(_ range: KeyRange) {
        replace(range, with: nil)
    }

    /// Visits the rows of `range` in order, or from its end, until `visit` returns false.
    func visit(_ range: KeyRange, backwards: Bool, _ visit: (Bytes, Bytes) -> Bool) {
        _ = Self.visit(root, range, backwards, visit)
    }

    private mutating func replace(_ range: KeyRange, with node: Node?) {
        let (low, rest) = Self.split(root, at: range.start)
        let (_, high) = Self.split(rest, at: range.end)
        root = Self.join(Self.join(low, node), high)
    }

    /// Splits a tree into the rows before `key` and the rest.
    private static func split(_ node: Node?, at key: Bytes) -> (low: Node?, high: Node?) {
        guard let node else { return (nil, nil) }
        if precedes(node.key, key) {
            let (low, high) = split(node.right, at: key)
            return (Node(node, left: node.left, right: low), high)
        } else {
            let (low, high) = split(node.left, at: key)
            return (low, Node(node, left: high, right: node.right))
        }
    }

    /// Joins two trees; every key of `low` is before every key of `high`.
    private static func join(_ low: Node?, _ high: Node?) -> Node? {
        guard let low else { return high }
        guard let high else { return low }
        if low.priority >= high.priority {
            return Node(low, left: low.left, right: join(low.right, high))
        } else {
            return Node(high, left: join(low, high.left), right: high.right)
        }
    }

    private static func visit(
        _ node: Node?,
        _ range: KeyRange,
        _ backwards: Bool,
        _ row: (Bytes, Bytes) -> Bool
    ) -> Bool {
        guard let node else { return true }
        let left = precedes(range.start, node.key) ? node.left : nil
        let right = precedes(node.key, range.end) ? node.right : nil
        let (first, second) = backwards ? (right, left) : (left, right)
        return visit(first, range, backwards, row)
            && (!range.contains(node.key) || row(node.key, node.value))
            && visit(second, range, backwards, row)
    }

    /// FNV-1a with a final mix, because keys differ in their last bytes and a heap looks at the
    /// highest bits.
    private static func priority(of key: Bytes) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in key { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ (hash >> 27)) &* 0x94d0_49bb_1331_11eb
        return hash ^ (hash >> 31)
    }
}
