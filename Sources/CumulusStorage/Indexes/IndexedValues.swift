// The rows that a record has in an index, and how to read such a row.
//
//   key   = zone · index no. · 0, or 1 and a value, or 2 · record name
//   value = empty; of cells: latitude and longitude
//
// The writer writes them for each record; queries read them. Tag 0 stands for no value. Tag 2
// stands for more elements or words than have rows: a search reads those records too. Texts are
// kept by their first bytes, which is how results are sorted. hot: once per index of each saved
// record.

package import CumulusModel

package enum IndexedValues {
    /// The most elements or words of a record that have rows in one index.
    package static let most = 250
    /// Only words within this many bytes of a text have rows.
    static let textBytes = 4_096

    /// The byte in front of a value.
    package enum Tag: UInt8, Sendable {
        case absent = 0
        case value = 1
        case more = 2
    }
}

extension KeyWriter {
    /// A value as indexes keep it: texts and bytes by their first bytes.
    package mutating func add(indexed value: ComparableValue) {
        switch value {
        case .bytes(let bytes): add(text: bytes.prefix(ResultPosition.sortedBytes))
        case .int64(let number): add(signed: number)
        case .double(let number): add(number)
        }
    }
}

extension Candidate {
    /// The rows of this record in an index.
    package func indexRows(
        in zone: ZoneNumber,
        _ index: NumberedIndex
    ) throws -> [(key: RowKey, value: Bytes)] {
        let definition = index.definition
        func key(_ tag: IndexedValues.Tag, _ add: (inout KeyWriter) -> Void = { _ in }) -> RowKey {
            RowKey(.indexRow) {
                $0.add(zone)
                $0.add(index.number)
                $0.add(tag.rawValue)
                add(&$0)
                $0.add(name)
            }
        }
        switch definition.form {
        case .value:
            guard let value = try value(of: definition.column).flatMap(ComparableValue.init) else {
                return definition.holdsAbsence ? [(key(.absent), [])] : []
            }
            return [(key(.value) { $0.add(indexed: value) }, [])]
        case .cell:
            guard let place = try value(of: definition.column)?.location else { return [] }
            let cell = LocationCells.cell(of: place)
            return [(key(.value) { $0.add(cell) }, place.indexedBytes)]
        case .element, .word:
            let (values, isWhole) = try indexedElements(of: definition)
            let rows = values.map { value in key(.value) { $0.add(indexed: value) } }
            return (rows + (isWhole ? [] : [key(.more)])).map { ($0, []) }
        }
    }

    /// Approximate number of rows in an index, without reading the value.
    func estimatedRows(in index: NumberedIndex) -> Int {
        switch index.definition.form {
        case .value, .cell: 1
        // A word or a list's element takes at least two bytes, with few exceptions.
        case .element, .word:
            min(IndexedValues.most, byteCount(of: index.definition.column) / 2) + 1
        }
    }

    /// The different elements of a list, or the different words, and whether these are all.
    private func indexedElements(
        of definition: IndexDefinition
    ) throws -> (values: Set<ComparableValue>, isWhole: Bool) {
        var found: Set<ComparableValue> = []
        var isWhole = true
        func add(_ value: ComparableValue) {
            if found.count < IndexedValues.most || found.contains(value) {
                found.insert(value)
            } else {
                isWhole = false
            }
        }
        if definition.form == .word {
            try visitTexts(of: definition.column) { text in
                let beginning = text.utf8.prefix(IndexedValues.textBytes)
                if beginning.count < text.utf8.count { isWhole = false }
                for word in SearchWords.words(of: String(decoding: beginning, as: UTF8.self)) {
                    add(.bytes(Bytes(word.utf8)))
                }
                return isWhole
            }
        } else {
            try visitElements(of: definition.column) { element in
                if let value = ComparableValue(element)?.indexed { add(value) }
                return isWhole
            }
        }
        return (found, isWhole)
    }
}

extension ComparableValue {
    /// The value as indexes keep it.
    fileprivate var indexed: ComparableValue {
        guard case .bytes(let bytes) = self else { return self }
        return .bytes(Bytes(bytes.prefix(ResultPosition.sortedBytes)))
    }
}

// MARK: - Reading

/// What a row of an index says about its record.
package struct IndexEntry: Hashable, Sendable {
    /// The record's name; a part of the row's key.
    package var nameBytes: ArraySlice<UInt8>
    /// Whether it stands for no value, for one, or for more than have rows.
    package var tag: IndexedValues.Tag
    /// nil if the row has no value, and in cells.
    package var value: ComparableValue?
    /// Latitude and longitude, in rows of cells only.
    fileprivate var place: Place?

    /// Only the coordinates of a location: there are many rows.
    fileprivate struct Place: Hashable, Sendable {
        var latitude: Double
        var longitude: Double
    }

    /// Reads a row of an index with that definition.
    package init(
        _ definition: IndexDefinition,
        key: Bytes,
        value row: Bytes
    ) throws(EngineError) {
        var parts = KeyReader(key)
        // The reader knows the zone and the index.
        try parts.skip(8)
        guard let tag = IndexedValues.Tag(rawValue: try parts.number()) else {
            throw .corrupt("the row \(key.hex) of an index is damaged")
        }
        self.tag = tag
        if tag == .value {
            switch definition.form {
            case .cell:
                try parts.skip(8)
                place = row.withUnsafeBytes(Place.init)
                guard place != nil else { throw .corrupt("a place in an index is damaged") }
            case .word: value = .bytes(try parts.content())
            case .value, .element: value = try parts.value(of: definition.type)
            }
        }
        nameBytes = try parts.contentSlice()
    }

    package var name: String { String(decoding: nameBytes, as: UTF8.self) }

    /// Whether the row holds the record's whole value, or says that it has none.
    package var isWhole: Bool {
        switch tag {
        case .absent: true
        case .more: false
        case .value:
            if case .bytes(let bytes) = value {
                bytes.count < ResultPosition.sortedBytes
            } else {
                true
            }
        }
    }

    /// Metres from a place to the one in the row of a cell; nil if the row has no place.
    package static func distance(
        from origin: Location,
        to row: UnsafeRawBufferPointer
    ) -> Double? {
        Place(indexedBytes: row)?.distance(from: origin)
    }

    /// Metres from a place to the one in the row; nil if the row has no place.
    package func distance(from origin: Location) -> Double? {
        place.map { $0.distance(from: origin) }
    }
}

extension KeyReader {
    fileprivate mutating func value(of type: FieldType) throws(EngineError) -> ComparableValue {
        switch type {
        case .one(.int64), .one(.timestamp), .list(.int64), .list(.timestamp):
            .int64(try signed())
        case .one(.double), .list(.double): .double(try double())
        default: .bytes(try content())
        }
    }
}

extension Location {
    fileprivate var indexedBytes: Bytes {
        var writer = CanonicalWriter(reserving: 16)
        writer.bigEndian(latitude.bitPattern)
        writer.bigEndian(longitude.bitPattern)
        return writer.bytes
    }

}

extension IndexEntry.Place {
    fileprivate init?(indexedBytes bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        func number(_ offset: Int) -> Double {
            let bits = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            return Double(bitPattern: UInt64(bigEndian: bits))
        }
        self.init(latitude: number(0), longitude: number(8))
    }

    fileprivate func distance(from origin: Location) -> Double {
        GreatCircle.distance(Location(latitude: latitude, longitude: longitude), origin)
    }
}
