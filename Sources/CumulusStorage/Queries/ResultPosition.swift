// The position of a record among a query's results: the values of the sort keys, then the record's
// name, then its zone's.
//
// The next page continues after the last position of a page. A position is small: texts and bytes
// are sorted by their first bytes only, and then by name.

package import CumulusModel

package struct ResultPosition: Hashable, Sendable {
    /// One per sort key; nil where the record has no value.
    package var keys: [ComparableValue?]
    package var name: String
    package var zone: String

    package init(keys: [ComparableValue?], name: String, zone: String) {
        self.keys = keys
        self.name = name
        self.zone = zone
    }

    /// Number of bytes by which a text is sorted.
    package static let sortedBytes = 512
}

extension Candidate {
    /// The position of the record among the results.
    package mutating func position(
        in zone: String,
        by sortKeys: [BoundQuery.SortKey]
    ) throws(MalformedBytes) -> ResultPosition {
        var keys: [ComparableValue?] = []
        keys.reserveCapacity(sortKeys.count)
        for key in sortKeys { keys.append(try sorted(by: key)) }
        return ResultPosition(keys: keys, name: name, zone: zone)
    }

    /// The value of a sort key: the distance of a place, the first bytes of a text.
    package mutating func sorted(
        by key: BoundQuery.SortKey
    ) throws(MalformedBytes) -> ComparableValue? {
        if let origin = key.origin {
            return try distance(from: origin, in: key.column).map(ComparableValue.double)
        }
        let value = try comparable(key.column)
        guard case .bytes(let bytes) = value, bytes.count > ResultPosition.sortedBytes else {
            return value
        }
        return .bytes(Bytes(bytes.prefix(ResultPosition.sortedBytes)))
    }
}

extension ResultPosition {
    /// Whether a record at this position comes before one at the other.
    package func precedes(_ other: ResultPosition, by sortKeys: [BoundQuery.SortKey]) -> Bool {
        for (index, key) in sortKeys.enumerated() {
            let order = ResultPosition.order(keys[index], other.keys[index])
            if order != 0 { return key.ascending ? order < 0 : order > 0 }
        }
        // Names follow the direction of the last key, as they do in its index.
        let isFalling = sortKeys.last?.ascending == false
        let order = ResultPosition.order((name, zone), (other.name, other.zone))
        return isFalling ? order > 0 : order < 0
    }

    /// Compared as bytes: Swift treats some differently encoded texts as equal.
    private static func order(
        _ left: (name: String, zone: String),
        _ right: (name: String, zone: String)
    ) -> Int {
        let order = compare(left.name, right.name)
        return order != 0 ? order : compare(left.zone, right.zone)
    }

    private static func compare(_ left: String, _ right: String) -> Int {
        var (left, right) = (left, right)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                CumulusModel.compare(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
    }

    /// Whether the record's name comes before another one.
    package func isBefore(_ other: ArraySlice<UInt8>) -> Bool {
        CumulusModel.precedes(ArraySlice(name.utf8), other)
    }

    /// Whether the record's name comes after another one.
    package func isBehind(_ other: ArraySlice<UInt8>) -> Bool {
        CumulusModel.precedes(other, ArraySlice(name.utf8))
    }

    /// Records without a value come first.
    package static func order(_ left: ComparableValue?, _ right: ComparableValue?) -> Int {
        switch (left, right) {
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        case (let left?, let right?): left.order(right)
        }
    }
}
