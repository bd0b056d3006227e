// Where a record stands in the order of a query's results: the values of the sort keys, then the
// record's name, then its zone's.
//
// The last place of a page is what the next one continues behind, so a place is small: texts and
// bytes are sorted by their first bytes only, and the name decides beyond.

package import CumulusModel

package struct ResultPlace: Hashable, Sendable {
    /// One per sort key: what is compared; nil where the record has no value.
    package var keys: [FieldValue?]
    package var name: String
    package var zone: String

    package init(keys: [FieldValue?], name: String, zone: String) {
        self.keys = keys
        self.name = name
        self.zone = zone
    }

    /// Bytes of a text by which it is sorted.
    package static let sortedBytes = 512
}

extension Candidate {
    /// Where the record stands among the results.
    package func place(
        in zone: String,
        by sortKeys: [BoundQuery.SortKey]
    ) throws(MalformedBytes) -> ResultPlace {
        let keys = try sortKeys.map { (key) throws(MalformedBytes) in
            try value(of: key.column).map { $0.sorted(by: key) }
        }
        return ResultPlace(keys: keys, name: view.name, zone: zone)
    }
}

extension FieldValue {
    /// What is compared of a value: the distance of a place, the first bytes of a text.
    fileprivate func sorted(by key: BoundQuery.SortKey) -> FieldValue {
        switch self {
        case .location(let place):
            .double(key.origin.map { GreatCircle.distance($0, place) } ?? 0)
        case .string(let text) where text.utf8.count > ResultPlace.sortedBytes:
            .bytes(Bytes(text.utf8.prefix(ResultPlace.sortedBytes)))
        case .string(let text): .bytes(Bytes(text.utf8))
        case .bytes(let bytes): .bytes(Bytes(bytes.prefix(ResultPlace.sortedBytes)))
        case .reference(let target): .bytes(Bytes(target.recordName.utf8))
        default: self
        }
    }
}

extension ResultPlace {
    /// Whether a record here comes before one there.
    package func precedes(_ other: ResultPlace, by sortKeys: [BoundQuery.SortKey]) -> Bool {
        for (index, key) in sortKeys.enumerated() {
            let order = ResultPlace.order(keys[index], other.keys[index])
            if order != 0 { return key.ascending ? order < 0 : order > 0 }
        }
        let names = name == other.name ? (zone, other.zone) : (name, other.name)
        return CumulusModel.precedes(Bytes(names.0.utf8), Bytes(names.1.utf8))
    }

    /// Records without a value come first.
    private static func order(_ left: FieldValue?, _ right: FieldValue?) -> Int {
        switch (left, right) {
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        case (let left?, let right?): left.order(right)
        }
    }
}
