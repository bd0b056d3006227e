// The module on systems that are not Linux: names whose use says what to do.
//
// There the manifest builds this file alone, and defines `ELSEWHERE`. Apple's systems have a
// CloudKit of their own; where an app imports both modules, the compiler takes Apple's names.

#if ELSEWHERE

    /// The databases of an app: the one of Apple's CloudKit.
    @available(*, unavailable, message: "on Apple's systems write `import CloudKit`")
    public enum CKContainer {}

    /// A database of a container: the one of Apple's CloudKit.
    @available(*, unavailable, message: "on Apple's systems write `import CloudKit`")
    public enum CKDatabase {}

    /// A record: the one of Apple's CloudKit.
    @available(*, unavailable, message: "on Apple's systems write `import CloudKit`")
    public enum CKRecord {}

    /// A share: the one of Apple's CloudKit.
    @available(*, unavailable, message: "on Apple's systems write `import CloudKit`")
    public enum CKShare {}

    /// The sync engine: the one of Apple's CloudKit.
    @available(*, unavailable, message: "on Apple's systems write `import CloudKit`")
    public enum CKSyncEngine {}

    /// How a container reaches its server.
    @available(*, unavailable, message: "only on Linux: Apple's CloudKit has no connection to set")
    public enum CumulusConnection {}

#endif
