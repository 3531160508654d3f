/// The version that all programs of this package print.
public enum ProductVersion {
    public static let current = "0.1.0"
}
