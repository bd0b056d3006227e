// Records between Swift and the wire.
//
// `Record` and `SaveRecord` of records.proto. The node writes `RecordView`s, whose fields it copies
// as they are stored; the client writes what it saves and reads what it fetched. hot: once per
// record on either side.

package import CumulusModel

/// `Record`.
package struct WireRecord: WireMessage {
    package var id: WireRecordID?
    package var type = ""
    /// Empty: none.
    package var changeTag: Bytes = []
    /// Milliseconds since 1970 UTC; 0: not told.
    package var created: Int64 = 0
    package var createdBy = ""
    package var modified: Int64 = 0
    package var modifiedBy = ""
    package var parent: Parent?
    /// Record name of the share that it is the root of; empty: of none.
    package var share = ""
    /// The fields as a node stores them; a reader finds them in `fields`.
    package var stored: Bytes = []
    package var fields: [WireRecordField] = []
    package var shareParts: WireShareParts?

    /// `Parent`.
    package struct Parent: Coded, Hashable {
        /// Empty: no parent.
        package var recordName = ""

        package init() {}

        init(_ recordName: String) {
            self.recordName = recordName
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.text(1, &recordName)
        }
    }

    package init() {}

    package var roughCount: Int { stored.count + 192 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.message(1, &id)
        try coder.text(2, &type)
        try coder.bytes(3, &changeTag)
        try coder.signed(4, &created)
        try coder.text(5, &createdBy)
        try coder.signed(6, &modified)
        try coder.text(7, &modifiedBy)
        try coder.message(8, &parent)
        try coder.text(9, &share)
        if !coder.reads { try coder.run(10, &stored) }
        try coder.list(10, &fields)
        try coder.message(11, &shareParts)
    }
}

/// `SaveRecord`.
package struct WireSave: Coded {
    package var record = WireRecord()
    package var increments: [WireIncrement] = []

    package init() {}

    package var roughCount: Int { 512 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.message(1, &record)
        try coder.list(2, &increments)
    }
}

/// `Increment`.
package struct WireIncrement: Coded, Hashable {
    package var field: Bytes = []
    package var delta: Int64 = 0

    package init() {}

    package init(field: Bytes, delta: Int64) {
        self.field = field
        self.delta = delta
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &field)
        try coder.signed(2, &delta)
    }
}

// MARK: - From the node

extension WireRecord {
    /// A record as the node stores it: its fields stay bytes.
    fileprivate init(_ view: RecordView, id: WireRecordID, url: String) {
        self.id = id
        type = view.type
        changeTag = view.changeTag
        created = view.created
        createdBy = view.createdBy
        modified = view.modified
        modifiedBy = view.modifiedBy
        parent = view.parent.map { Parent($0) }
        share = view.share ?? ""
        stored = view.fields
        shareParts = view.sharing.map { WireShareParts($0, url: url) }
    }

    /// The fields of a stored record, each with its tag.
    fileprivate struct StoredFields: WireMessage {
        var fields: [WireRecordField] = []

        mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.list(10, &fields)
        }
    }
}

extension RecordView {
    /// The bytes of a `Record`.
    ///
    /// - Parameter url: The URL of the share, if the record is a share's.
    package func encoded(as id: WireRecordID, url: String = "") -> Bytes {
        WireRecord(self, id: id, url: url).encoded()
    }
}

// MARK: - For the client

extension Record {
    /// A record as the node shows it to a caller in its own process.
    ///
    /// - Parameter url: The URL of the share, if the record is a share's.
    package init(_ view: RecordView, id: WireRecordID, url: String) throws(MalformedMessage) {
        var wire = WireRecord(view, id: id, url: url)
        wire.fields = try WireRecord.StoredFields(wire: view.fields).fields
        self.init(wire, id: id)
    }

    /// nil if it has no id.
    package init?(_ wire: WireRecord) {
        guard let id = wire.id else { return nil }
        self.init(wire, id: id)
    }

    private init(_ wire: WireRecord, id: WireRecordID) {
        self.init(recordType: wire.type, recordID: id.id)
        recordChangeTag = wire.changeTag.isEmpty ? nil : wire.changeTag.hex
        // Where the caller may not read the record, neither is told.
        let isTold = wire.created != 0 || !wire.createdBy.isEmpty
        creationDate = isTold ? Timestamp(millisecondsSince1970: wire.created) : nil
        creatorUserRecordName = wire.createdBy.isEmpty ? nil : wire.createdBy
        modificationDate = Timestamp(millisecondsSince1970: wire.modified)
        lastModifiedUserRecordName = wire.modifiedBy.isEmpty ? nil : wire.modifiedBy
        if let parent = wire.parent { receive(parent: Reference(recordName: parent.recordName)) }
        if !wire.share.isEmpty { share = Reference(recordName: wire.share) }
        shareDetails = wire.shareParts.map { ShareDetails($0) }
        reserveCapacity(wire.fields.count)
        for field in wire.fields {
            if let sealed = field.sealed {
                receive(encrypted: .sealed(sealed), for: field.name)
            } else {
                receive(field.value, for: field.name)
            }
        }
    }

    /// The bytes of a `SaveRecord`: what changed, or with `allKeys` all that is here.
    ///
    /// Encrypted values are sealed by then.
    package func encodedSave(allKeys: Bool) -> Bytes {
        var save = WireSave()
        save.record.id = WireRecordID(recordID)
        save.record.type = recordType
        save.record.changeTag = recordChangeTag.flatMap { Bytes(hex: $0) } ?? []
        save.record.parent = changedParent.map { WireRecord.Parent($0?.recordName ?? "") }
        save.record.fields = savedFields(allKeys: allKeys)
        save.record.shareParts = shareDetails.map { WireShareParts(saving: $0) }
        save.increments = increments.sorted { $0.key < $1.key }.map { field, delta in
            WireIncrement(field: Bytes(field.utf8), delta: delta)
        }
        return save.encoded()
    }

    private func savedFields(allKeys: Bool) -> [WireRecordField] {
        let sealed = encryptedValues.values
        let changed = changedKeys()
        var keys = changed
        if allKeys { keys = Set(keys).union(self.allKeys()).union(sealed.keys).sorted() }
        // What was set and then incremented is sent as both: the node refuses it and says why.
        return keys.filter { increments[$0] == nil || changed.contains($0) }.map { key in
            switch sealed[key] {
            case .sealed(let value): WireRecordField(key, sealed: value)
            case .open: preconditionFailure("an open value would leave the client")
            case nil: WireRecordField(key, self[key])
            }
        }
    }

    /// This record after a save, given the node's answer.
    package func saved(as answer: Record) -> Record {
        var saved = self
        saved.recordChangeTag = answer.recordChangeTag
        saved.creationDate = answer.creationDate
        saved.creatorUserRecordName = answer.creatorUserRecordName
        saved.modificationDate = answer.modificationDate
        saved.lastModifiedUserRecordName = answer.lastModifiedUserRecordName
        for key in answer.allKeys() { saved.receive(answer[key], for: key) }
        saved.markSaved()
        return saved
    }
}
