"""``TimezoneConverter`` (Debezium documentation, "Timezone Converter")."""
